// SPDX-License-Identifier: GPL-2.0

#ifdef CONFIG_X86
#include <linux/cpufeature.h>

__rust_helper bool rust_helper_hypervisor_present(void)
{
	return boot_cpu_has(X86_FEATURE_HYPERVISOR);
}
#endif

#ifdef CONFIG_S390
#include <asm/machine.h>

__rust_helper bool rust_helper_machine_is_lpar(void)
{
	return machine_is_lpar();
}
#endif

#ifdef CONFIG_PPC_PSERIES
#include <asm/cputhreads.h>
#include <asm/firmware.h>
#include <asm/paravirt.h>

__rust_helper bool rust_helper_hypervisor_present(void)
{
	return firmware_has_feature(FW_FEATURE_LPAR);
}

/* The calls to the hypervisor for partitions that may share processors. */
__rust_helper bool rust_helper_hypervisor_has_splpar(void)
{
	return firmware_has_feature(FW_FEATURE_SPLPAR);
}

__rust_helper bool rust_helper_is_shared_processor(void)
{
	return is_shared_processor();
}

__rust_helper int rust_helper_cpu_first_thread_sibling(int cpu)
{
	return cpu_first_thread_sibling(cpu);
}
#endif
