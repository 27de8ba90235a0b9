// A reorganisation deeper than finality: the service reports it; `tx repair` shows the repair and, with --yes, does it.

import { describe, expect, test } from 'bun:test'
import type { Hex } from 'viem'
import { freePort } from '../../devnet/port.ts'
import { readMetrics } from '../metrics/exposition.ts'
import { isLong, longTest } from '../support/long.ts'
import { shared } from '../support/shared.ts'
import { network, startOperatorWorld } from './operator-world.ts'

/** Enough slots to make a block final, and some more. */
const BLOCKS_ABOVE = isLong ? 20 : 6

const world = await shared(startOperatorWorld())
const port = await freePort()
const metricsUrl = `http://127.0.0.1:${port}/metrics`
// Only the long run reads the metrics of the worker, which has a listener as a process alone.
if (isLong) world.service.startWorker({ WORKER_METRICS_PORT: String(port) })
else await world.startWorker()

const row = async (id: string) => {
  const [found] = await world.sql<{ status: string; final: boolean; code: string | null; holds: boolean }[]>`
    select status, final, error_code as code, holds_nonce as holds from transactions where id = ${id}`
  return found
}

const isFinal = (ids: readonly string[]) =>
  world.until(
    () => Promise.all(ids.map(row)),
    (all) => all.every((each) => each?.final === true),
  )

const isTracked = async (): Promise<void> => {
  const { hash } = await world.chain.publicClient.getBlock()
  await world.until(
    () => world.sql`select 1 from cursors where purpose = 'track' and block_hash = ${hash}`,
    (rows) => rows.length === 1,
  )
}

/** Three transactions of one signer, all final successes. */
const three = async () => {
  const from = await world.wallet()
  // No reorganisation reaches the block of its coins.
  await world.chain.mine(3)
  const ids: string[] = []
  const raws: Hex[] = []
  for (let count = 0; count < 3; count += 1) {
    const id = await world.send(from, { value: String(count + 1) })
    const [attempt] = await world.sql<{ raw: Hex }[]>`
      select raw from tests.attempts where transaction_id = ${id} and kind = 'rung' and rung = 0`
    raws.push(attempt?.raw ?? '0x')
    ids.push(id)
  }
  const settled = await Promise.all(ids.map((id) => world.service.settled(id)))
  expect(settled.map(({ json }) => json.status)).toEqual(['success', 'success', 'success'])
  await world.chain.mine(BLOCKS_ABOVE)
  await isFinal(ids)
  await isTracked()
  return { from, ids, raws }
}

/** Replaces all blocks that hold one of these, from the first one on. */
const reorganise = async (transactions: readonly (readonly [Hex, number])[] = []): Promise<void> => {
  await world.chain.rpc('anvil_reorg', [BLOCKS_ABOVE + 4, transactions])
  await world.chain.mine(3)
  await isTracked()
}

const deepCount = async (): Promise<number> => {
  const text = await (await fetch(metricsUrl)).text()
  return readMetrics(text).value('deep_reorganisations_total', { network })
}

longTest('does nothing while all final transactions are on the chain', async () => {
  const { ids } = await three()
  const { exitCode, output } = await world.cli('tx', 'repair', '--network', network, '--yes')
  expect({ exitCode, output }).toEqual({
    exitCode: 0,
    output: `All final transactions of ${network} are on the chain.\n`,
  })
  expect(await row(ids[0] ?? '')).toEqual({ status: 'success', final: true, code: null, holds: true })
})

describe('three final transactions that are on no chain any more', () => {
  longTest(
    'are reported and shown, and repaired with --yes; the signer then sends again from the first of their nonces',
    async () => {
      const { from, ids } = await three()
      const before = await deepCount()
      await reorganise()
      expect(await deepCount()).toBe(before + 1)
      const told =
        await world.sql`select details from audit where action = 'final_blocks_lost' order by id desc limit 1`
      expect(told[0]?.details).toMatchObject({ network, above: expect.stringMatching(/^[0-9]+$/) })

      const shown = await world.cli('tx', 'repair', '--network', network)
      expect(shown.exitCode).toBe(0)
      for (const id of ids) expect(shown.output).toMatch(new RegExp(`^${id} .* success .* on no chain: `, 'm'))
      expect(shown.output).toEndWith('Nothing was changed. Confirm with --yes.\n')
      for (const id of ids) expect(await row(id)).toEqual({ status: 'success', final: true, code: null, holds: true })

      const done = await world.cli('tx', 'repair', '--network', network, '--yes')
      expect(done.output).toMatch(/\nRepaired: [0-9]+ of [0-9]+\.\n$/)
      for (const id of ids) {
        expect(await row(id)).toEqual({ status: 'failed', final: true, code: 'reorganised', holds: false })
        const { json } = await world.service.get('/transactions/status-by-id', { id })
        expect(json).toMatchObject({ status: 'failed', code: 'reorganised', error: expect.any(String) })
      }
      const audited = await world.sql`
      select subject, actor, details->>'is' as fate from audit where action = 'lost_transaction_settled'
        and subject in ${world.sql(ids as string[])}`
      expect(audited.map(({ subject }) => subject).sort()).toEqual(ids.toSorted())
      expect(audited[0]).toMatchObject({ actor: 'operator', fate: 'gone' })

      await world.chain.fund(from, 10n ** 20n)
      const next = await world.send(from, { value: '9' })
      expect((await world.service.settled(next)).json.status).toBe('success')
      expect(await world.chain.publicClient.getTransactionCount({ address: from })).toBe(1)
      const again = await world.cli('tx', 'repair', '--network', network, '--yes')
      expect(again.output).toBe(`All final transactions of ${network} are on the chain.\n`)
    },
  )
})

describe('a final transaction that moved to another block', () => {
  test('is followed there and succeeds again, while the others are on no chain', async () => {
    const { ids, raws } = await three()
    const [first = '', second = '', third = ''] = ids
    await reorganise([[raws[0] ?? '0x', 2]])
    const shown = await world.cli('tx', 'repair', '--network', network)
    expect(shown.output).toMatch(new RegExp(`^${first} .* in another block: `, 'm'))
    expect(shown.output).toMatch(new RegExp(`^${second} .* on no chain: `, 'm'))
    await world.cli('tx', 'repair', '--network', network, '--yes')
    await world.chain.mine(BLOCKS_ABOVE)
    await isFinal([first])
    expect(await row(first)).toEqual({ status: 'success', final: true, code: null, holds: true })
    expect(await row(third)).toMatchObject({ status: 'failed', code: 'reorganised' })
  })
})
