#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
# Joint-posterior quantiles by mpmath, 30 digits: lower-left and mirrored mass by iterated quadrature in plain x.
from mpmath import mp, mpf, quad, betainc, beta, exp, log, findroot, linspace, sqrt, erfinv
import sys
mp.dps=22
def law(k,n): return mpf(k)+mpf(1)/2, mpf(n-k)+mpf(1)/2
def cdf(x,a,b):
    if x<=0: return mpf(0)
    if x>=1: return mpf(1)
    return betainc(a,b,0,x,regularized=True)
def pts(a,b,lo,hi):
    m=a/(a+b); s=sqrt(a*b/(a+b)**2/(a+b+1))
    p=[lo]+[m+j*s for j in (-12,-6,-3,-1,0,1,3,6,12) if lo<m+j*s<hi]+[hi]
    return sorted(p)
def low(fa,fb,ga,gb,e,d):   # Pr[x < f(y)], x~(fa,fb), y~(ga,gb); integrate over x: y < bound
    E=exp(e); end=1-d; c=end/(1+E)
    def side(oa,ob,ia,ib):
        B=beta(oa,ob)
        g=lambda s: s**(oa-1)*(1-s)**(ob-1)/B*cdf((end-s)/E,ia,ib)
        return quad(g,pts(oa,ob,c,end))
    return cdf(c,fa,fb)*cdf(c,ga,gb)+side(fa,fb,ga,gb)+side(ga,gb,fa,fb)
def F(fn,tp,fp,tn,e,d):
    x=law(fn,fn+tp); y=law(fp,fp+tn)
    return 1-low(*x,*y,e,d)-low(x[1],x[0],y[1],y[0],e,d)
cases=[(0,50,0,50,'0',0.05,6),(0,1000,0,1000,'1e-5',0.05,7.2),(1,0,0,1,'0.1',0.05,0.3),(3,17,0,20,'0.5',0.05,0.5),(0,30,7,23,'1e-300',0.01,1.5),(200,300,20,480,'1e-3',0.001,2.0),(12,8,9,11,'0',0.5,0.3),(0,20,0,20,'1e-5',0.95,9)]
for fn,tp,fp,tn,d,p,g in cases:
    dd=mpf(d); pp=mpf(str(p))
    try:
        r=findroot(lambda e:F(fn,tp,fp,tn,e,dd)-pp,(mpf(g),mpf(g)*mpf('1.05')),tol=1e-18,solver='secant')
        print(f"    {{{{{fn}, {tp}, {fp}, {tn}}}, {d}, {p}, {mp.nstr(r,16)}}},",flush=True)
    except Exception as ex: print('//',fn,tp,fp,tn,d,p,ex,flush=True)
