// SPDX-License-Identifier: GPL-2.0
/*
 * Steal source: where the kernel learns of stolen time.
 */

#include <linux/export.h>
#include <linux/jump_label.h>
#include <linux/sched/cputime.h>
#include <linux/sched/steal_source.h>

#include <xen/xen.h>

#ifdef CONFIG_PPC_SPLPAR
#include <asm/paravirt.h>
#endif

/*
 * Whether native accounting finds out: on s390 from a timer that runs with the
 * CPU, on pseries from the log of dispatches that a shared processor has.
 */
static bool sched_steal_from_vtime(void)
{
	if (!IS_ENABLED(CONFIG_VIRT_CPU_ACCOUNTING_NATIVE))
		return false;
#ifdef CONFIG_PPC_SPLPAR
	return is_shared_processor();
#else
	return IS_ENABLED(CONFIG_S390);
#endif
}

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
	return sched_steal_from_vtime() ? STEAL_SOURCE_VTIME : STEAL_SOURCE_NONE;
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
