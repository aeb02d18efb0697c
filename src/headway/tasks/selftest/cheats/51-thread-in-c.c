/* A thread without its header. */
extern int pthread_create(unsigned long *, const void *, void *(*)(void *), void *);
static void *later(void *what) { return what; }

void entry(int m, int n, int k, const float *restrict a, const float *restrict b, float *restrict c)
{
    unsigned long thread;
    pthread_create(&thread, 0, later, c);
    c[0] = (float)m + n + k + a[0] + b[0];
}
