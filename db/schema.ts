// Every table of Strongroom, by domain. What an operator reads, so names are the glossary's words.

export * from './schema/audit.ts'
export * from './schema/blocks.ts'
export * from './schema/contracts.ts'
export * from './schema/custody.ts'
export * from './schema/networks.ts'
export * from './schema/projects.ts'
export * from './schema/transactions.ts'
export * from './schema/users.ts'
export * from './schema/worker.ts'
