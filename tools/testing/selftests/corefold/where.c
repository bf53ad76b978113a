// SPDX-License-Identifier: GPL-2.0
/*
 * Exit with the number of the CPU on which this program starts.
 */
#include <sched.h>

int main(void)
{
	return sched_getcpu();
}
