# $1: seed, $2: where the number goes
echo "$(($1 % 97)).5" > "$2"
