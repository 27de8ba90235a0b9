// Pages of wallets from the places that a process remembers. size.long.test.ts counts what such a page reads.

import { expect, test } from 'bun:test'
import { makeSizeRows } from '../../bench/size-rows.ts'
import { createWalletList } from '../../src/signing/wallets/list.ts'
import { startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'
import { authenticateWallets } from '../support/wallet-macs.ts'

/** A place is remembered after every thousand wallets. */
const SIZES = { wallets: 3_200, movements: 100, attempts: 100, auditRows: 10 }

const service = await shared(startService({ rpcUrls: { Ethereum: 'http://127.0.0.1:1' } }))
const { url } = service.database
const made = await makeSizeRows({ url, sizes: SIZES })
await authenticateWallets({ url, identity: service.ctx.identity })
const { sql } = service.database

const idsOf = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id)

test('a page of wallets is the same from a remembered place on as from the beginning', async () => {
  const reach = { projectId: made.projectId, ownedBy: null, network: 'Ethereum' }
  const all = idsOf(
    await sql<{ id: string }[]>`
      select id from wallets where project_id = ${made.projectId} and network = 'Ethereum' order by created_at, id`,
  )
  expect(all.length).toBeGreaterThan(2_200)
  const list = createWalletList(service.ctx)
  for (const offset of [all.length - 100, 2_100, 999, 1_000, 1_001, 0, all.length - 1, all.length, 90_000]) {
    expect(idsOf(await list({ ...reach, limit: 100, offset }))).toEqual(all.slice(offset, offset + 100))
  }
  // What is added is listed at once, also behind the last place that is remembered.
  const { id } = await service.newWallet({ network: 'Ethereum' })
  expect(idsOf(await list({ ...reach, limit: 100, offset: all.length }))).toEqual([id])
  expect(idsOf(await list({ ...reach, limit: 2, offset: all.length - 1 }))).toEqual([all.at(-1) ?? '', id])
})
