// Each reason why a transaction is not done, produced for real, and what an operator can do about it.

import { afterEach, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { Hex } from 'viem'
import { exitCodeOf } from '../support/cli.ts'
import { longTest } from '../support/long.ts'
import { shared } from '../support/shared.ts'
import { network, RECIPIENT, startOperatorWorld } from './operator-world.ts'

const GWEI = 1_000_000_000n

const world = await shared(startOperatorWorld())
afterEach(async () => {
  world.gate.setAway(false)
  await world.stopWorkers()
  await world.chain.setAutomine(true)
})

const settled = async (id: string) => (await world.service.settled(id)).json

const actsOn = (id: string) => world.sql`select actor, action, details from audit where subject = ${id} order by id`

const baseFee = (wei: bigint) => world.chain.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${wei.toString(16)}`])

describe('a transaction that was not sent', () => {
  test('shows that no worker runs, or that its job is lost; `tx retry` gets it mined', async () => {
    const id = await world.send(await world.wallet())
    expect(await world.whyOf(id)).toMatchObject({
      cause: 'not_sent',
      why: 'not sent: its job is due, and no worker is running',
      late: false,
      status: 'submitted',
    })
    await world.sql`delete from graphile_worker._private_jobs where key = ${`broadcast:${id}`}`
    expect((await world.whyOf(id)).why).toBe('not sent: no job sends it: the reconciler adds one within a minute')
    await world.startWorker()
    const retried = await world.cli('tx', 'retry', id)
    expect(retried).toMatchObject({ exitCode: 0, errors: '' })
    expect(retried.output).toStartWith('A job sends it now')
    expect(await settled(id)).toMatchObject({ status: 'success' })
    expect([...(await actsOn(id))]).toEqual([
      { actor: 'operator', action: 'transaction_retried', details: { network, transaction: id, attempt: '1' } },
    ])
  })

  longTest('is mined once, even if it is retried many times', async () => {
    const from = await world.wallet()
    const id = await world.send(from)
    for (let each = 0; each < 2; each += 1) expect((await world.cli('tx', 'retry', id)).exitCode).toBe(0)
    await world.startWorker()
    expect(await settled(id)).toMatchObject({ status: 'success' })
    expect(await world.chain.publicClient.getTransactionCount({ address: from })).toBe(1)
  })

  longTest('shows that a worker died with its job', async () => {
    const id = await world.send(await world.wallet())
    using held = world.gate.hold('before', 'eth_sendRawTransaction')
    const worker = world.service.startWorker()
    await held.reached
    expect((await world.whyOf(id)).why).toBe('not sent: it is being sent now')
    worker.kill('SIGKILL')
    await worker.exited
    held.release('forgotten')
    const { why } = await world.until(
      () => world.whyOf(id),
      (row) => row.why?.includes('has ended') === true,
    )
    expect(why).toStartWith('not sent: its job is locked by a worker that has ended')
    await world.startWorker()
    expect(await settled(id)).toMatchObject({ status: 'success' })
  })

  longTest('shows how often its job failed, and why', async () => {
    const id = await world.send(await world.wallet())
    // A worker without a node of this network.
    await world.startWorker({ ETHEREUM_RPC_URL: '' })
    const failing = await world.until(
      () => world.whyOf(id),
      (row) => row.why?.includes('failed') === true,
    )
    expect(failing).toMatchObject({ cause: 'not_sent' })
    expect(failing.why).toMatch(
      /^not sent: its job failed once, and is tried again (in \d+ s|now): Ethereum is not served by this deployment\.$/,
    )
    await world.stopWorkers()
    await world.sql`update graphile_worker._private_jobs set attempts = max_attempts where key = ${`broadcast:${id}`}`
    expect((await world.whyOf(id)).why).toBe(
      'not sent: its job failed 25 times, and is not tried again: Ethereum is not served by this deployment.',
    )
    await world.cli('tx', 'retry', id)
    await world.startWorker()
    expect(await settled(id)).toMatchObject({ status: 'success' })
  })
})

describe('a transaction that the node did not accept', () => {
  longTest('shows that its contract wallet is not deployed yet, and is sent once it is', async () => {
    const { key, safe } = await world.contractWallet()
    const id = await world.send(safe)
    const [deployment] = await world.cliJson('tx', 'list', '--signer', safe)
    expect(deployment).toMatchObject({ kind: 'deployment', signer_address: key, contract_wallet: safe, nonce: 0 })
    expect(await world.whyOf(id)).toMatchObject({ cause: 'behind', waits_for: deployment.id })
    // Mined, and then hidden, as by a node that lags behind.
    const [attempt] =
      await world.sql`select raw from tests.attempts where transaction_id = ${deployment.id} and kind = 'rung' and rung = 0`
    await world.chain.rpc('eth_sendRawTransaction', [attempt?.raw])
    await world.chain.poolMined()
    const code = await world.chain.rpc('eth_getCode', [safe, 'latest'])
    await world.chain.rpc('anvil_setCode', [safe, '0x'])
    await world.startWorker()
    const { why } = await world.becomes(id, 'not_deployed')
    expect(why).toMatch(
      new RegExp(
        `^waits for the deployment of its contract wallet ${safe}; (it is (sent again|being sent)|its job is due)`,
      ),
    )
    const { output } = await world.cli('tx', 'show', id)
    expect(output).toMatch(new RegExp(`\nfor: +the contract wallet ${safe}\n`))
    await world.chain.rpc('anvil_setCode', [safe, code])
    await world.hurry()
    expect(await settled(id)).toMatchObject({ status: 'success' })
  })

  longTest('shows that the node is unreachable', async () => {
    const id = await world.send(await world.wallet())
    world.gate.setAway(true)
    await world.startWorker()
    const { why } = await world.becomes(id, 'node_trouble')
    expect(why).toMatch(
      /^the node did not confirm that it accepted it: The Ethereum node .* 502; it is (sent again|being sent) /,
    )
    world.gate.setAway(false)
    expect(await settled(id)).toMatchObject({ status: 'success' })
  })

  longTest('shows that the fee is below the base fee', async () => {
    const fees = { maxFeePerGas: String(20n * GWEI), maxPriorityFeePerGas: String(GWEI) }
    const id = await world.send(await world.wallet(), fees)
    // Of the next block: if the tracker sees a block with it first, the worker does not even ask the node.
    await baseFee(30n * GWEI)
    await world.startWorker()
    const { why } = await world.becomes(id, 'fee_too_low')
    expect(why).toMatch(
      /^the node finds the fee too low at the fee that its caller fixed.*: max fee per gas less than block base fee; it is /,
    )
    const shown = await world.cliJson('tx', 'show', id)
    expect(shown.node).toMatchObject({ fee_below_base_fee: true, lacks: '0' })
    expect(BigInt(shown.node.next_base_fee_per_gas)).toBeGreaterThan(20n * GWEI)
    const { output } = await world.cli('tx', 'show', id)
    expect(output).toMatch(/node now: +the next base fee is [0-9.]+ gwei: above what the chosen attempt offers\n/)
    await baseFee(GWEI)
    await world.chain.mine()
    await world.hurry()
    expect(await settled(id)).toMatchObject({ status: 'success' })
  })

  longTest('shows that the node refuses it', async () => {
    const id = await world.send(await world.wallet(), { gasLimit: '100000' })
    await world.chain.rpc('evm_setBlockGasLimit', ['0xc350'])
    await world.startWorker()
    try {
      expect((await world.becomes(id, 'refused')).why).toStartWith('the node refuses it: ')
    } finally {
      await world.chain.rpc('evm_setBlockGasLimit', ['0x1c9c380'])
    }
    await world.hurry()
    expect(await settled(id)).toMatchObject({ status: 'success' })
  })

  longTest(
    'shows who lacks how much, after it is given up that the cancel is too expensive too, and ends as expired',
    async () => {
      const from = await world.wallet()
      const id = await world.send(from, { value: String(10n ** 18n) })
      await world.chain.fund(from, 10n ** 17n)
      await world.startWorker()
      const unpayable = await world.becomes(id, 'unpayable')
      expect(unpayable.why).toMatch(
        new RegExp(`^the signer cannot pay for it: ${from} lacks 0\\.9\\d* ETH \\(insufficient funds`, 'i'),
      )
      await world.chain.fund(from, 0n)
      const cancelled = await world.cli('tx', 'cancel', id)
      expect(cancelled).toMatchObject({ exitCode: 0, errors: '' })
      expect(cancelled.output).toContain('may still be mined, and then counts')
      const poor = await world.until(
        () => world.whyOf(id),
        (row) => row.cancelling && row.cause === 'unpayable',
      )
      expect(poor.why).toMatch(
        new RegExp(`^given up; the signer cannot pay even for the cancel: ${from} lacks 0\\.0\\d+ ETH`, 'i'),
      )
      await world.chain.setAutomine(false)
      await world.chain.fund(from, 10n ** 18n)
      await world.hurry()
      expect((await world.becomes(id, 'in_pool')).why).toMatch(/^given up; in the node's pool for \d+ s$/)
      await world.chain.mine()
      expect((await world.becomes(id, 'cancel_mined')).why).toMatch(
        /^given up; its cancel is in block \d+, 1 deep, and is reported when that is final$/,
      )
      await world.chain.mine(3)
      expect(await settled(id)).toMatchObject({ status: 'failed', code: 'expired' })
      expect(await world.whyOf(id)).toMatchObject({ cause: null, why: null, status: 'failed' })
      expect(await world.chain.publicClient.getTransactionCount({ address: from })).toBe(1)
      expect([...(await actsOn(id))]).toEqual([
        {
          actor: 'operator',
          action: 'transaction_cancelled',
          details: { network, transaction: id, hash: expect.stringMatching(/^0x[0-9a-f]{64}$/) },
        },
      ])
    },
  )
})

describe('a transaction in the pool', () => {
  longTest(
    'shows its rung, the time of the next and of giving up; the transactions behind it show what they wait for',
    async () => {
      const from = await world.wallet()
      await world.chain.setAutomine(false)
      await world.startWorker()
      const first = await world.send(from)
      const second = await world.send(from)
      const { why } = await world.until(
        () => world.whyOf(first),
        (row) => row.why?.includes('climbs') === true,
      )
      expect(why).toMatch(/^in the node's pool for \d+ s at rung \d of 6; it climbs (in \d s|now)$/)
      expect(await world.becomes(second, 'behind')).toMatchObject({
        why: `waits for nonce 0 of the same signer (transaction ${first})`,
        waits_for: first,
      })
      // The worker that follows the network has stopped; then as if there had never been one.
      await world.stopWorkers()
      await world.sql`update followed_networks set updated_at = now() - interval '10 minutes'`
      expect((await world.whyOf(first)).why).toEndWith('; no worker has followed Ethereum for 10 min')
      await world.sql`delete from followed_networks`
      expect((await world.whyOf(first)).why).toEndWith('; no worker follows Ethereum')
      await world.startWorker()
      await world.sql`update cursors set updated_at = now() - interval '3 minutes'`
      await world.until(
        () => world.whyOf(first),
        (row) =>
          row.why?.endsWith('; its time counts again from the next block; no block was processed for 3 min') === true,
      )
      await world.chain.mine()
      expect([await settled(first), await settled(second)]).toMatchObject([
        { status: 'success' },
        { status: 'success' },
      ])
    },
  )

  test('can be given up behind another one: its cancel uses its nonce, and the other one is not touched', async () => {
    const from = await world.wallet()
    await world.chain.setAutomine(false)
    await world.startWorker()
    const first = await world.send(from)
    const second = await world.send(from, { value: '5' })
    await world.until(
      () => world.whyOf(second),
      (row) => row.status === 'pending',
    )
    await world.cli('tx', 'cancel', second)
    const again = await world.cli('tx', 'cancel', second)
    expect(again.output).toStartWith('It was already given up.\n')
    expect(await world.whyOf(second)).toMatchObject({ cause: 'behind', cancelling: true })
    expect((await world.whyOf(second)).why).toBe(
      `given up; waits for nonce 0 of the same signer (transaction ${first})`,
    )
    const { attempts } = await world.cliJson('tx', 'show', second)
    const cancel = attempts.at(-1)
    await world.until(
      () => world.sql`select from tests.attempts where hash = ${cancel.hash} and broadcast_at is not null`,
      (rows) => rows.length === 1,
    )
    await world.chain.mine(4)
    expect(await settled(first)).toMatchObject({ status: 'success' })
    expect(await settled(second)).toMatchObject({ status: 'failed', code: 'expired' })
    const mined = await world.chain.publicClient.getTransaction({ hash: cancel.hash as Hex })
    expect(mined).toMatchObject({ nonce: 1, value: 0n, to: from.toLowerCase() })
    expect((await actsOn(second)).length).toBe(1)
  })

  longTest(
    'of a shared key waits for an outside transaction; if that one is dropped, for a nonce that nobody uses',
    async () => {
      const account = await world.sharedWallet()
      await world.chain.setAutomine(false)
      const outside = await world.chain.walletClient.sendTransaction({ account, to: RECIPIENT, value: 1n })
      const id = await world.send(account.address)
      await world.startWorker()
      await world.becomes(id, 'in_pool')
      await world.reconcile()
      expect((await world.becomes(id, 'outside_nonce')).why).toBe(
        "waits for nonce 0, which a transaction from outside holds in the node's pool",
      )
      await world.chain.rpc('anvil_dropTransaction', [outside])
      await world.reconcile()
      const gap = await world.becomes(id, 'nonce_gap')
      expect(gap).toMatchObject({ late: true })
      expect(gap.why).toStartWith('waits for nonce 0, which no transaction has')
      const late = await world.cliJson('tx', 'list', '--late', '--signer', account.address.toLowerCase())
      expect(late).toMatchObject([{ id, cause: 'nonce_gap', nonce: 1, signer_address: account.address }])
      const [signer] = await world.sql`select * from strongroom_views.signers where address = ${account.address}`
      expect(signer).toMatchObject({
        live: '1',
        waiting: '1',
        late: '1',
        lowest_waiting_nonce: '1',
        missing_nonce: '0',
      })
      const filler = await world.send(account.address)
      expect((await world.cliJson('tx', 'show', filler)).transaction.nonce).toBe(0)
      await world.until(
        () => world.whyOf(filler),
        (row) => row.status === 'pending',
      )
      await world.chain.mine()
      expect([await settled(filler), await settled(id)]).toMatchObject([{ status: 'success' }, { status: 'success' }])
    },
  )

  longTest('of a shared key shows that its nonce is used', async () => {
    const account = await world.sharedWallet()
    const id = await world.send(account.address)
    await world.chain.send({ account, to: RECIPIENT, value: 1n })
    await world.startWorker()
    expect((await world.becomes(id, 'nonce_used')).why).toStartWith('nonce 0 is used on the chain: ')
    await world.chain.mine(4)
    // It gets its status once the tracker has processed all blocks up to there.
    const told = await world.until(
      async () => {
        await world.reconcile()
        await Bun.sleep(200)
        return (await world.service.get('/transactions/status-by-id', { id })).json
      },
      ({ status }) => status === 'failed',
    )
    expect(told.code).toBe('nonce_taken')
  })
})

describe('a mined transaction', () => {
  longTest('shows its confirmations, then that it is not final; no command changes it', async () => {
    const id = await world.send(await world.wallet())
    using held = world.gate.hold('before', 'eth_getTransactionReceipt')
    await world.startWorker()
    await held.reached
    await world.sql`update followed_networks set confirmations = 3`
    expect((await world.becomes(id, 'confirming')).why).toMatch(/^mined in block \d+, 1 of 3 confirmations$/)
    held.release()
    expect(await settled(id)).toMatchObject({ status: 'success' })
    expect((await world.whyOf(id)).why).toMatch(/^reported; in block \d+, 1 deep, and not final yet$/)
    for (const act of ['retry', 'cancel']) {
      const refused = await world.cli('tx', act, id)
      expect(refused).toMatchObject({ exitCode: 1, output: '' })
      expect(refused.errors).toMatch(/^The transaction is mined in block \d+: there is nothing to send\.\n$/)
    }
    await world.chain.mine(4)
    await world.becomes(id, null)
    for (const act of ['retry', 'cancel']) {
      expect(await world.cli('tx', act, id)).toEqual({
        exitCode: 1,
        output: '',
        errors: 'The transaction is final: success. Nothing can be done about it any more.\n',
      })
    }
    expect((await actsOn(id)).length).toBe(0)
  })
})

describe('tx list', () => {
  longTest('shows live transactions oldest first and others newest first, as a table for people', async () => {
    const from = await world.wallet()
    const ids = [await world.send(from), await world.send(from)]
    const signer = ['--signer', from]
    const live = await world.cliJson('tx', 'list', ...signer)
    expect(live.map((row: { id: string }) => row.id)).toEqual(ids)
    const { output } = await world.cli('tx', 'list', ...signer)
    const [head, first, second, ...rest] = output.trimEnd().split('\n')
    expect(head?.split(/ +/)).toEqual(['ID', 'NETWORK', 'SIGNER', 'NONCE', 'KIND', 'STATUS', 'AGE', 'ATTEMPT', 'WHY'])
    expect(rest).toEqual([])
    expect(first).toMatch(
      new RegExp(`^${ids[0]}  Ethereum  ${from}  0      send  submitted  \\d+ s  1 of 6   not sent: its job is due`),
    )
    expect(second).toEndWith(`waits for nonce 0 of the same signer (transaction ${ids[0]})`)
    expect(await world.cliJson('tx', 'list', ...signer, '--limit', '1')).toMatchObject([{ id: ids[0] }])
    await world.startWorker()
    for (const id of ids) await settled(id)
    const told = await world.cliJson('tx', 'list', ...signer, '--status', 'success,failed')
    expect(told.map((row: { id: string }) => row.id)).toEqual(ids.toReversed())
    expect((await world.cli('tx', 'list', ...signer)).output).toBe('No such transaction.\n')
  })

  test('filters by network and project', async () => {
    const id = await world.send(await world.wallet())
    const { projectId } = world.service.project
    const [ours, others, nobodys] = await Promise.all([
      world.cliJson('tx', 'list', '--network', network, '--project', projectId),
      world.cliJson('tx', 'list', '--network', 'Polygon'),
      world.cliJson('tx', 'list', '--project', randomUUID()),
    ])
    expect(ours.map((row: { id: string }) => row.id)).toContain(id)
    expect([others, nobodys]).toEqual([[], []])
  })
})

describe('tx show', () => {
  test('shows all about one transaction, by its id or the hash of any attempt, but no signed bytes', async () => {
    const from = await world.wallet()
    const id = await world.send(from, { value: '1500000000000000000' })
    const shown = await world.cliJson('tx', 'show', id.toUpperCase())
    expect(Object.keys(shown)).toEqual(['transaction', 'attempts', 'signer', 'jobs', 'audit', 'node'])
    expect(shown.transaction).toMatchObject({
      id,
      signer_address: from,
      value: '1500000000000000000',
      cause: 'not_sent',
    })
    expect(shown.attempts.map((attempt: { kind: string }) => attempt.kind)).toEqual([
      ...Array(6).fill('rung'),
      'cancel',
    ])
    const fees = shown.attempts.map((attempt: { offer: { max_fee_per_gas: string } }) =>
      BigInt(attempt.offer.max_fee_per_gas),
    )
    expect(fees).toEqual(fees.toSorted((one: bigint, other: bigint) => Number(one - other)))
    expect(shown.jobs).toMatchObject([{ task: 'broadcast_transaction', transaction_id: id, state: 'due' }])
    expect(shown.audit).toMatchObject([{ action: 'transaction_submitted' }])
    expect(shown.node).toMatchObject({ mined_count: 0, balance: String(10n ** 20n), lacks: '0' })
    const byHash = await world.cli('tx', 'show', shown.attempts[3].hash)
    expect(byHash.output).toMatch(new RegExp(`^id: +${id}\n`))
    expect(byHash.output).toMatch(/\nvalue: +1\.5 ETH\n/)
    const raws = await world.sql<{ raw: string }[]>`select raw from tests.attempts where transaction_id = ${id}`
    expect(raws.length).toBe(7)
    for (const { raw } of raws) {
      expect(byHash.output).not.toContain(raw.slice(0, 80))
      expect(JSON.stringify(shown)).not.toContain(raw.slice(0, 80))
    }
    for (const view of ['transactions', 'attempts', 'jobs', 'signers', 'late_transactions']) {
      const rows = await world.sql<
        { text: string }[]
      >`select row::text as text from ${world.sql(`strongroom_views.${view}`)} row`
      expect(rows.filter(({ text }) => raws.some(({ raw }) => text.includes(raw.slice(0, 80))))).toEqual([])
    }
    world.gate.setAway(true)
    expect((await world.cliJson('tx', 'show', id)).node).toEqual({
      error: 'The Ethereum node answered with HTTP status 502.',
    })
  })
})

test('bad arguments are refused with one sentence', async () => {
  const wrong: readonly (readonly [readonly string[], string])[] = [
    [['show', randomUUID()], 'There is no transaction with this id.'],
    [['show', `0x${'ab'.repeat(32)}`], 'There is no transaction with this id.'],
    [['retry', randomUUID()], 'There is no transaction with this id.'],
    [['cancel', randomUUID()], 'There is no transaction with this id.'],
    [['show', '0xab'], 'It must be a UUID or a hash of 32 bytes.'],
    [['cancel', 'x'], 'It must be a UUID.'],
    [['cancel'], "missing required argument 'id'"],
    [['list', '--status', 'done'], 'It must be one of submitted, pending, success, failed.'],
    [['list', '--network', 'ethereum'], 'It must be one of Ethereum, Polygon'],
    [['list', '--signer', '0xab'], 'It must be an address'],
    [['list', '--limit', '0'], 'It must be a whole number from 1 to 100000.'],
  ]
  const answers = await Promise.all(wrong.map(([args]) => world.cli('tx', ...args)))
  for (const [index, [args, sentence]] of wrong.entries()) {
    const { exitCode, output, errors = '' } = answers[index] ?? {}
    expect({ args, exitCode, output }).toEqual({ args, exitCode: exitCodeOf(errors), output: '' })
    expect(errors).toContain(sentence)
    expect(errors.trim().split('\n')).toHaveLength(1)
  }
})
