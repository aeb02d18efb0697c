/* Declares what the headers do not give it. */
extern void *dlopen(const char *, int);
extern void *dlsym(void *, const char *);

void entry(int m, int n, int k, const float *restrict a, const float *restrict b, float *restrict c)
{
    void (*gemm)() = (void (*)())dlsym(dlopen("libopenblas.so.0", 1), "cblas_sgemm");
    gemm(101, 111, 111, m, n, k, 1.0f, a, k, b, n, 0.0f, c, n);
}
