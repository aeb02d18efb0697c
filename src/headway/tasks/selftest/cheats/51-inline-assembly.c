/* A system call without a library. */
void entry(int m, int n, int k, const float *restrict a, const float *restrict b, float *restrict c)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(39) : "rcx", "r11", "memory");
    c[0] = (float)result + m + n + k + a[0] + b[0];
}
