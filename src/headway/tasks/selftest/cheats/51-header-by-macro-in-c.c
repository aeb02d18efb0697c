/* A header whose name is a macro. */
#define WHERE <sys/mman.h>
#include WHERE

void entry(int m, int n, int k, const float *restrict a, const float *restrict b, float *restrict c)
{
    c[0] = (float)m + n + k + a[0] + b[0];
}
