// The clock of a process. Tests replace it.

export type HasClock = { readonly now: () => Date }
