/* A header that the task does not list. */
#include <unistd.h>

void entry(int m, int n, int k, const float *restrict a, const float *restrict b, float *restrict c)
{
    c[0] = (float)getpid() + m + n + k + a[0] + b[0];
}
