import { beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Block, newHeader } from '@acala-network/chopsticks-core'
import { ApiPromise, HttpProvider, WsProvider } from '@polkadot/api'
import type { KeyringPair } from '@polkadot/keyring/types'
import type { ProviderInterface } from '@polkadot/rpc-provider/types'
import { TypeRegistry } from '@polkadot/types'
import type { DispatchError, EventRecord, Header } from '@polkadot/types/interfaces'
import { type Chopsticks, startChopsticks, startOver } from '../../devnet/chopsticks.ts'
import { EVENTS_KEY, openArchive } from '../../devnet/chopsticks-archive.ts'
import { openLocalChain } from '../../devnet/chopsticks-chain.ts'
import { readProcess } from '../../devnet/process-info.ts'
import { callRpc } from '../../devnet/rpc.ts'
import type { Hex } from '../../devnet/runtime-changes.ts'
import { accountKey, withFree } from '../../devnet/substrate-account.ts'
import { substrateNetworkRow } from '../../src/platform/networks.ts'
import { longTest } from '../support/long.ts'
import { afterTests, shared } from '../support/shared.ts'
import { devAccount, startSubstrateChain } from '../support/substrate.ts'

type Account = { readonly data: { readonly free: string | number } }

const RECONNECT_MS = 50
const UNIT = 10n ** 12n

const chain = await shared(startSubstrateChain('Polkadot'))

/** polkadot-js sets optional properties to undefined, which its own interface does not allow. */
const connect = (url: string) =>
  ApiPromise.create({ provider: new WsProvider(url, RECONNECT_MS) as unknown as ProviderInterface, noInitWarn: true })

const api = await connect(chain.wsUrl)
afterTests(() => api.disconnect())
const [alice, bob] = [await devAccount('Alice'), await devAccount('Bob')]
await chain.fund(alice.address)

const free = async (account: KeyringPair, at: Pick<ApiPromise, 'query'> = api): Promise<bigint> => {
  const stored = await at.query.system?.account?.(account.address)
  return BigInt((stored?.toJSON() as Account | undefined)?.data.free ?? -1)
}

const signed = async (options: {
  readonly nonce: number
  readonly tip?: bigint
  readonly by?: KeyringPair
  readonly era?: 0
}) => {
  const { by = alice, ...signing } = options
  const transfer = api.tx.balances?.transferKeepAlive?.(bob.address, UNIT)
  return (await transfer?.signAsync(by, signing))?.toHex() ?? '0x'
}

const withWrongSignature = (extrinsic: Hex): Hex =>
  `0x${extrinsic.slice(2, 100)}${extrinsic[100] === '0' ? '1' : '0'}${extrinsic.slice(101)}`

const nextNonce = async (): Promise<number> => Number(await chain.rpc('system_accountNextIndex', [alice.address]))

/** The node's whole answer to a request. */
const answerTo = async (method: string, ...params: readonly unknown[]): Promise<Record<string, unknown>> => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const { result, error } = await (await fetch(chain.rpcUrl, { method: 'POST', body })).json()
  return error ?? { result }
}

describe('two chains', () => {
  let vara: Chopsticks
  beforeAll(async () => {
    vara = await startChopsticks({ network: 'Vara' })
  })
  const ask = (method: string, params: readonly unknown[] = []) => callRpc(vara.rpcUrl, method, params)

  test('are recognised by the devnet by their genesis', async () => {
    for (const { network, rpcUrl } of [chain, vara]) {
      const { genesisHash } = substrateNetworkRow({ network, environment: 'testnet', devnet: true })
      expect(await callRpc(rpcUrl, 'chain_getBlockHash', [0])).toBe(genesisHash)
    }
    expect(await ask('system_properties')).toEqual({ ss58Format: 137, tokenDecimals: 12, tokenSymbol: 'VARA' })
  })

  longTest('that start over are as new, at another port alone', async () => {
    const look = async () => [
      await vara.freePlanck(bob.address),
      await ask('chain_getHeader'),
      await ask('system_chain'),
    ]
    const first = { number: '0x00000001' }
    expect(await ask('chain_getHeader')).toMatchObject(first)
    await vara.fund({ account: bob.address, planck: UNIT })
    await ask('dev_setManners', [{ instant: false, finalityLagBlocks: 1 }])
    await ask('dev_setAnswer', ['system_chain', 'another'])
    await ask('dev_newBlock', [{ count: 2 }])
    expect(await look()).toEqual([UNIT, expect.objectContaining({ number: '0x00000003' }), 'another'])
    const old = vara
    vara = await startOver(old)
    expect(await look()).toEqual([0n, expect.objectContaining(first), 'Vara devnet'])
    expect(await ask('chain_getFinalizedHead')).toBe(await ask('chain_getBlockHash'))
    expect(await callRpc(old.rpcUrl, 'chain_getHeader').then(String, () => 'nobody there')).toBe('nobody there')
    expect(vara.pid).toBe(old.pid)
  })

  test('end with their process', async () => {
    await vara.stop()
    expect(readProcess(vara.pid)).toBeUndefined()
  })
})

test('it listens on 127.0.0.1 only', async () => {
  expect(chain.rpcUrl).toStartWith('http://127.0.0.1:')
  const elsewhere = chain.rpcUrl.replace('127.0.0.1', '[::1]')
  expect(await fetch(elsewhere, { method: 'POST' }).then(String, () => 'nobody there')).toBe('nobody there')
})

test('a transfer is at once in a final block with the current time', async () => {
  const before = await free(bob)
  const extrinsic = await signed({ nonce: await nextNonce() })
  await chain.rpc('author_submitExtrinsic', [extrinsic])
  const { hash, index } = await chain.included(extrinsic)
  expect(index).toBe(2)
  expect(await free(bob)).toBe(before + UNIT)
  expect(await chain.rpc('chain_getFinalizedHead')).toBe(hash)
  const now = Number(await (await api.at(hash)).query.timestamp?.now?.())
  expect(Math.abs(Date.now() - now)).toBeLessThan(5_000)
})

test('a watched extrinsic is reported in a block, then final; a failed dispatch is in its events', async () => {
  const transfer = await api.tx.balances?.transferKeepAlive?.(bob.address, 10n ** 30n)?.signAsync(alice)
  if (transfer === undefined) throw new Error('the runtime has no such call')
  const statuses: string[] = []
  const inBlock = await new Promise<string>((resolve, reject) => {
    api.rpc.author
      .submitAndWatchExtrinsic(transfer, (status) => {
        statuses.push(status.type)
        if (status.isFinalized) resolve(status.asFinalized.toHex())
      })
      .catch(reject)
  })
  expect(statuses).toEqual(['Ready', 'InBlock', 'Finalized'])
  const { registry, query } = await api.at(inBlock)
  const events = (await query.system?.events?.()) as unknown as readonly EventRecord[]
  const failed = events.find(({ event }) => event.method === 'ExtrinsicFailed')?.event.data[0] as DispatchError
  const failure = registry.findMetaError(failed.asModule).name
  expect(failure).toBe('InsufficientBalance')
})

longTest(
  'the runtime answers and changes what it does in the executor of chopsticks',
  async () => {
    const local = await openLocalChain({ network: 'Polkadot' })
    await local.newBlock()
    const { head } = local.chain
    await local.changeHead(async () =>
      head.pushStorageLayer().set(accountKey(alice.publicKey), withFree(null, 1_000n * UNIT)),
    )
    const transfer = await signed({ nonce: 0, era: 0 })
    const { balances, uniques, utility } = api.tx
    const all = async (...made: readonly unknown[]) =>
      ((await utility?.batchAll?.(made).signAsync(alice, { nonce: 0, era: 0 }))?.toHex() ?? '0x') as Hex
    const undone = await all(
      balances?.transferKeepAlive?.(bob.address, UNIT),
      balances?.transferKeepAlive?.(bob.address, 10n ** 30n),
    )
    const cleared = await all(
      uniques?.create?.(1, alice.address),
      uniques?.mint?.(1, 1, alice.address),
      uniques?.mint?.(1, 2, bob.address),
      uniques?.destroy?.(1, { instances: 2 }),
    )
    const header = (await newHeader(head)).toHex()
    const calls = [
      ['TaggedTransactionQueue_validate_transaction', ['0x02', transfer, head.hash]],
      ['TransactionPaymentApi_query_info', [transfer, '0x90000000']],
      ['Core_initialize_block', [header]],
      ['BlockBuilder_apply_extrinsic', [transfer]],
      ['BlockBuilder_apply_extrinsic', [undone]],
      ['BlockBuilder_apply_extrinsic', [cleared]],
      ['BlockBuilder_apply_extrinsic', [withWrongSignature(transfer)]],
    ] as const
    for (const [name, args] of calls) {
      const [ours, theirs] = [await head.call(name, [...args]), await Block.prototype.call.call(head, name, [...args])]
      expect([name, ours.result]).toEqual([name, theirs.result])
      const deleted = theirs.storageDiff.map(([key, value]) => [key, value ?? null] as const)
      expect(new Map(ours.storageDiff)).toEqual(new Map(deleted))
    }
    local.close()
  },
  60_000,
)

describe('the node refuses with the messages of a real node', () => {
  test('a wrong signature, an old nonce, a sender without coins', async () => {
    const good = await signed({ nonce: await nextNonce() })
    const wrongSignature = withWrongSignature(good)
    for (const [extrinsic, data] of [
      [wrongSignature, 'Transaction has a bad signature'],
      [await signed({ nonce: 0 }), 'Transaction is outdated'],
      [
        await signed({ nonce: 0, by: await devAccount('Ferdie') }),
        'Inability to pay some fees (e.g. account balance too low)',
      ],
    ]) {
      expect(await answerTo('author_submitExtrinsic', extrinsic)).toEqual({
        code: 1010,
        message: 'Invalid Transaction',
        data,
      })
    }
    expect(await answerTo('author_submitExtrinsic', '0x1234')).toMatchObject({ code: 1002 })
  })

  test('an unknown method and an unknown block', async () => {
    const unknown = `0x${'11'.repeat(32)}`
    expect(await answerTo('foo_bar')).toMatchObject({ code: -32601, message: 'Method not found' })
    expect(await answerTo('chain_getBlock', unknown)).toEqual({ result: null })
    expect(await answerTo('chain_getBlockHash', 1_000_000)).toEqual({ result: null })
    expect(await answerTo('state_getStorage', '0x3a636f6465', unknown)).toMatchObject({ code: 4003 })
  })
})

test('an extrinsic waits for earlier nonces; of two with one nonce, the higher tip wins', async () => {
  await chain.setMode('manual')
  const nonce = await nextNonce()
  const [first, second] = [await signed({ nonce }), await signed({ nonce: nonce + 1 })]
  await chain.rpc('author_submitExtrinsic', [second])
  expect(await answerTo('author_submitExtrinsic', second)).toEqual({
    code: 1013,
    message: 'Transaction Already Imported',
  })
  expect(await chain.rpc('author_pendingExtrinsics')).toEqual([])
  expect(await nextNonce()).toBe(nonce)
  await chain.newBlock()
  await chain.rpc('author_submitExtrinsic', [first])
  expect(await nextNonce()).toBe(nonce + 2)
  const dearer = await signed({ nonce: nonce + 1, tip: UNIT })
  await chain.rpc('author_submitExtrinsic', [dearer])
  expect(await answerTo('author_submitExtrinsic', second)).toMatchObject({ code: 1014 })
  const hash = await chain.newBlock()
  const { block } = (await chain.rpc('chain_getBlock', [hash])) as { readonly block: { readonly extrinsics: string[] } }
  expect(block.extrinsics.slice(2)).toEqual([first, dearer])
  await chain.setMode('instant')
})

test('of the extrinsics of a block, one that is no longer valid is left out without a trace', async () => {
  await chain.setMode('manual')
  await chain.fund(bob.address)
  const [kept, unpaid] = [await signed({ nonce: await nextNonce() }), await signed({ nonce: 0, by: bob })]
  for (const extrinsic of [unpaid, kept]) await chain.rpc('author_submitExtrinsic', [extrinsic])
  await chain.fund(bob.address, 1n)
  const hash = await chain.newBlock()
  const { block } = (await chain.rpc('chain_getBlock', [hash])) as { readonly block: { readonly extrinsics: string[] } }
  expect(block.extrinsics.slice(2)).toEqual([kept])
  expect(Number(await chain.rpc('system_accountNextIndex', [bob.address]))).toBe(0)
  expect(await free(bob)).toBe(1n + UNIT)
  await chain.setMode('instant')
})

longTest('finality can lag, and blocks that are not final can be replaced', async () => {
  await chain.setFinalityLag(3)
  await chain.newBlock(4)
  const number = Number((await api.rpc.chain.getHeader()).number)
  expect(await chain.rpc('chain_getFinalizedHead')).toBe(await chain.rpc('chain_getBlockHash', [number - 3]))
  const before = await chain.rpc('chain_getBlockHash', [number])
  await chain.reorg({ depth: 2 })
  await chain.newBlock(2)
  expect(Number((await api.rpc.chain.getHeader()).number)).toBe(number)
  expect(await chain.rpc('chain_getBlockHash', [number])).not.toBe(before)
  await chain.setFinalityLag(0)
})

test('connections can be dropped and answers changed, and both providers recover', async () => {
  const dropped = new Promise<void>((resolve) => api.once('disconnected', () => resolve()))
  const connected = new Promise<void>((resolve) => api.once('connected', () => resolve()))
  await chain.dropConnections()
  await dropped
  await connected
  expect(String(await api.rpc.system.chain())).toBe('Polkadot devnet')

  const http = new HttpProvider(chain.rpcUrl)
  const honest = await chain.answerWith('chain_getBlockHash', `0x${'ab'.repeat(32)}`)
  expect(await http.send('chain_getBlockHash', [0])).toBe(`0x${'ab'.repeat(32)}`)
  await honest()
  expect(await http.send('chain_getBlockHash', [0])).toBe(api.genesisHash.toHex())
})

longTest('after a runtime upgrade, extrinsics signed for the old version are refused', async () => {
  const extrinsic = await signed({ nonce: await nextNonce() })
  expect(await chain.upgradeRuntime()).toBe(901)
  await chain.newBlock()
  expect(await chain.rpc('state_getRuntimeVersion')).toMatchObject({ specName: 'statemine', specVersion: 901 })
  expect(await answerTo('author_submitExtrinsic', extrinsic)).toMatchObject({ data: 'Transaction has a bad signature' })
})

longTest(
  'a persistent chain goes on after a kill, with its blocks and its old state',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'strongroom-chopsticks-'))
    const options = { network: 'Polkadot', statePath: join(folder, 'chain.sqlite') } as const
    const first = await startChopsticks(options)
    await first.fund({ account: alice.address, planck: 5n * UNIT })
    const hash = await callRpc(first.rpcUrl, 'dev_newBlock', [{ count: 5 }])
    await first.fund({ account: bob.address, planck: 7n * UNIT })
    process.kill(first.pid, 'SIGKILL')
    await first.process.exited

    const second = await startChopsticks(options)
    expect(await callRpc(second.rpcUrl, 'chain_getBlockHash', [6])).toBe(hash)
    const again = await connect(second.wsUrl)
    const freeIn = async (block: number, account: KeyringPair) =>
      free(account, await again.at(await again.rpc.chain.getBlockHash(block)))
    expect(await freeIn(6, bob)).toBe(7n * UNIT)
    expect(await freeIn(3, alice)).toBe(5n * UNIT)
    expect(await freeIn(3, bob)).toBe(0n)
    await second.fund({ account: alice.address, planck: 6n * UNIT })
    expect([await freeIn(6, alice), await freeIn(6, bob)]).toEqual([6n * UNIT, 7n * UNIT])
    await callRpc(second.rpcUrl, 'dev_newBlock')
    expect([await freeIn(7, alice), await freeIn(7, bob)]).toEqual([6n * UNIT, 7n * UNIT])
    await again.disconnect()
    await second.stop()
    await rm(folder, { recursive: true, force: true })
  },
  30_000,
)

const hashOf = (number: number) => `0x${number.toString(16).padStart(64, '0')}` as const

/** Hashes of blocks that do not exist. */
const archiveOf = async (path: string, last: number) => {
  const [often, once] = ['0x01', '0x02']
  const genesis = { name: 'Test', properties: {}, storage: { [once]: '0xff' }, stateRoot: hashOf(0) }
  const archive = await openArchive({ path, genesis: async () => genesis })
  const registry = new TypeRegistry()
  for (let number = 1; number <= last; number += 1) {
    const header = registry.createType<Header>('Header', { number })
    const value = `0x${number.toString(16).padStart(4, '0')}` as const
    const storageDiff = async () => ({ [often]: value, [EVENTS_KEY]: value })
    await archive.save({ number, hash: hashOf(number), header, extrinsics: [], storageDiff })
  }
  return { archive, often, once }
}

longTest('every block is found, even if more are requested at once than memory holds', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-chopsticks-'))
  const statePath = join(folder, 'chain.sqlite')
  const numbers = Array.from({ length: 200 }, (_, index) => index + 1)
  ;(await archiveOf(statePath, numbers.length)).archive.close()
  const kept = await startChopsticks({ network: 'Polkadot', statePath })
  const all = (method: string, ...params: readonly unknown[]) =>
    Promise.all(numbers.map((number) => callRpc(kept.rpcUrl, method, [...params, hashOf(number)])))
  const [headers = [], blocks, events = []] = await Promise.all([
    ...[all('chain_getHeader'), all('chain_getBlock'), all('state_getStorage', EVENTS_KEY)],
  ])
  expect(headers.map((header) => Number((header as { number: string }).number))).toEqual(numbers)
  expect(blocks).toEqual(headers.map((header) => ({ block: { header, extrinsics: [] }, justifications: null })))
  expect(events.map(Number)).toEqual(numbers)
  await kept.stop()
  await rm(folder, { recursive: true, force: true })
})

longTest('of old state only superseded values are dropped, and the events stay', async () => {
  const { archive, often, once } = await archiveOf(':memory:', 1_200)
  const at = (number: number, key: string) => archive.answer('state_getStorage', [key, hashOf(number)])
  expect([at(1_200, often), at(201, often), at(200, often)]).toEqual(['0x04b0', '0x00c9', '0x00c8'])
  expect(() => at(199, often)).toThrow('State already discarded')
  expect([at(7, once), at(7, EVENTS_KEY)]).toEqual(['0xff', '0x0007'])
  archive.close()
})
