/* A name that stands nowhere in the source. */
#define JOIN(a, b) a##b
extern int JOIN(sys, tem)(const char *);

void entry(int m, int n, int k, const float *restrict a, const float *restrict b, float *restrict c)
{
    c[0] = (float)JOIN(sys, tem)("true") + m + n + k + a[0] + b[0];
}
