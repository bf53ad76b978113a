// SPDX-License-Identifier: GPL-2.0
/*
 * Steal source: where the kernel learns of stolen time.
 */

#include <linux/export.h>
#include <linux/jump_label.h>
#include <linux/sched/cputime.h>
#include <linux/sched/steal_source.h>

#include <xen/xen.h>

/**
 * sched_steal_source() - where stolen time comes from
 *
 * Return: the source of CPUTIME_STEAL, STEAL_SOURCE_NONE if it says nothing.
 */
enum sched_steal_source sched_steal_source(void)
{
#ifdef CONFIG_PARAVIRT
	if (static_key_enabled(&paravirt_steal_enabled))
		return STEAL_SOURCE_PARAVIRT;
#endif
	/* There the clock and the CPU timer differ by what was stolen. */
	if (IS_ENABLED(CONFIG_S390))
		return STEAL_SOURCE_VTIME;
	return STEAL_SOURCE_NONE;
}
EXPORT_SYMBOL_GPL(sched_steal_source);

/**
 * sched_steal_privileged() - whether this kernel is itself the host
 *
 * Xen's initial domain has a steal clock as any guest, but serves the other
 * ones: if it gave up CPUs because they steal from it, it would starve them.
 *
 * Return: true for Xen's initial domain.
 */
bool sched_steal_privileged(void)
{
	return xen_initial_domain();
}
EXPORT_SYMBOL_GPL(sched_steal_privileged);
