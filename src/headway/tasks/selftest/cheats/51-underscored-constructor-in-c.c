/* The same attribute with the underscores that compilers also accept. */
static int ready;
static void __attribute__((__constructor__)) early(void) { ready = 1; }

void entry(int m, int n, int k, const float *restrict a, const float *restrict b, float *restrict c)
{
    c[0] = (float)ready + m + n + k + a[0] + b[0];
}
