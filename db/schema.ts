// Every table of Strongroom, by domain. Operators read these, so the names are those of the README's glossary.

export * from './schema/approvals.ts'
export * from './schema/audit.ts'
export * from './schema/blocks.ts'
export * from './schema/contracts.ts'
export * from './schema/custody.ts'
export * from './schema/delegates.ts'
export * from './schema/networks.ts'
export * from './schema/operators.ts'
export * from './schema/projects.ts'
export * from './schema/transactions.ts'
export * from './schema/users.ts'
export * from './schema/worker.ts'
