// SPDX-License-Identifier: GPL-2.0
/*
 * count_insns ROUNDS COMMAND...: run COMMAND, and print for each round the guest's virtual clock
 * from start to end. With the emulator's -icount shift=0 that clock ticks once per instruction, of
 * all CPUs together.
 */
#include "util.h"

static uint64_t virtual_clock(void)
{
#ifdef __x86_64__
	/* Not the kernel's clock, which is scaled by what was calibrated at boot. */
	return __builtin_ia32_rdtsc();
#else
	return now_ns();
#endif
}

int main(int argc, char **argv)
{
	uint64_t start;
	int status;
	pid_t pid;

	if (argc < 3)
		return 2;
	for (int rounds = atoi(argv[1]); rounds > 0; rounds--) {
		start = virtual_clock();
		pid = fork();
		if (!pid) {
			int fd = open("/dev/null", O_WRONLY);

			dup2(fd, STDOUT_FILENO);
			execvp(argv[2], argv + 2);
			_exit(127);
		}
		if (waitpid(pid, &status, 0) != pid || status)
			return 1;
		printf("insns %llu\n", (unsigned long long)(virtual_clock() - start));
		fflush(stdout);
	}
	return 0;
}
