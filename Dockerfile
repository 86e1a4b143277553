# SPDX-License-Identifier: GPL-3.0-or-later
# Builds the wheel, then an image with Python and the wheel alone. Files are read and written in /data.
FROM debian:bookworm-slim AS build
WORKDIR /source
COPY . .
RUN scripts/build-wheel /dist

FROM debian:bookworm-slim
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-venv python3-numpy && rm -rf /var/lib/apt/lists/*
COPY --from=build /dist /dist
RUN python3 -m venv --system-site-packages /opt/dpaudit && /opt/dpaudit/bin/pip install --no-index /dist/*.whl && rm -r /dist
ENV PATH=/opt/dpaudit/bin:$PATH
WORKDIR /data
ENTRYPOINT ["dpaudit"]
