// The same routes behind two doors, in one process: ours, and one that lets everybody in as the same caller. What they
// differ by is what authentication costs.

import { Elysia } from 'elysia'
import type { Caller } from '../src/identity/auth/caller.ts'
import { type Authentication, admission, authentication } from '../src/identity/auth/plugin.ts'
import { createApiCtx } from '../src/main/contexts.ts'
import { readConfig } from '../src/platform/config.ts'
import { listen } from '../src/platform/http/listen.ts'
import { transactionRoutes } from '../src/signing/transactions/routes.ts'
import { walletRoutes } from '../src/signing/wallets/routes.ts'

const ctx = await createApiCtx({ config: readConfig(), process: 'bench' })
const everybody = (): Caller => ({
  kind: 'api_key',
  projectId: process.env.PROJECT_ID ?? '',
  apiKeyId: '00000000-0000-4000-8000-000000000000',
  scopes: [],
  address: '127.0.0.1',
})

const openDoor = (): Authentication =>
  admission<Caller>({
    name: 'open-door',
    admit: async () => everybody(),
    bytes: { spend: async () => {}, giveBack: async () => {} },
    requests: ctx.requests,
    spendersOf: () => [],
  })

const portOf = (door: Authentication) => {
  const app = new Elysia({ normalize: false }).use(walletRoutes(ctx, door)).use(transactionRoutes(ctx, door))
  return listen({ fetch: app.fetch, hostname: '127.0.0.1', port: 0, log: ctx.log }).port
}

process.stdout.write(`listening ${portOf(openDoor())} ${portOf(authentication(ctx))}\n`)
process.once('SIGTERM', () => process.exit(0))
