// The same route at two doors, in one process: one that asks the vault at VAULT_SOCKET, and one with a vault of its
// own, as an API had before the vault was a process. What they differ by is what the process costs.

import { Elysia } from 'elysia'
import type { ApiCtx } from '../src/api/ctx.ts'
import { authentication } from '../src/identity/auth/plugin.ts'
import { createApiCtx } from '../src/main/contexts.ts'
import { openVault } from '../src/main/open-vault.ts'
import { readConfig } from '../src/platform/config.ts'
import { listen } from '../src/platform/http/listen.ts'
import { transactionRoutes } from '../src/signing/transactions/routes.ts'

const ctx = await createApiCtx({ config: readConfig(), process: 'bench' })
const variables = { ...process.env, DATABASE_URL: process.env.VAULT_DATABASE_URL }
const { vault } = await openVault({
  config: readConfig(variables),
  process: 'bench',
  log: console,
  onJournalLost: () => {},
})

const portOf = (of: ApiCtx) => {
  const app = new Elysia({ normalize: false }).use(transactionRoutes(of, authentication(of)))
  return listen({ fetch: app.fetch, hostname: '127.0.0.1', port: 0, log: of.log }).port
}

process.stdout.write(`listening ${portOf({ ...ctx, vault })} ${portOf(ctx)}\n`)
process.once('SIGTERM', () => process.exit(0))
