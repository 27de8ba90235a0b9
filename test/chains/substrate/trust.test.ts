// False metadata of a dishonest node: we do not sign with it, or no block accepts what was signed. The tests use real
// runtimes: one built with its metadata hash, one built without it, and one without the extension.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import type { Hex, Intent, SubstrateUnsigned } from '../../../src/chains/chain.ts'
import { createSubstrateChain } from '../../../src/chains/substrate/chain.ts'
import { compact, toHex } from '../../../src/chains/substrate/scale.ts'
import { metadataHashOf } from '../../../src/chains/substrate/trust.ts'
import { bytesToSign } from '../../../src/vault/rooms/keys/payloads.ts'
import { withCallsSwapped, withNamesSwapped, withoutExtension, withPalletMoved } from '../../support/forged-metadata.ts'
import { isLeftOut, longTest, someOf } from '../../support/long.ts'
import { runtimeCallIn } from '../../support/rules.ts'
import { devAccount } from '../../support/substrate.ts'
import { type Behaviour, startFakeNode } from '../evm/fake-node.ts'
import { createMemory } from '../evm/memory.ts'
import { lacksSpecs, type SpecChain, specPath, startOwnRuntime, startSpec } from './specs.ts'

/** Current runtimes take seconds to start on a busy machine. */
setDefaultTimeout(60_000)
const UNIT = 10n ** 10n
/** As the runtime answers: an Option of bytes with their length. */
const atVersion = (metadata: Hex): Hex => {
  const bytes = Buffer.from(metadata.slice(2), 'hex')
  return toHex(Buffer.concat([Uint8Array.of(1), compact(BigInt(bytes.length)), bytes]))
}

type Account = Awaited<ReturnType<typeof devAccount>>
let alice: Account
let bob: Account
beforeAll(async () => {
  alice = await devAccount('Alice')
  bob = await devAccount('Bob')
})

const fakes: ReturnType<typeof startFakeNode>[] = []
afterAll(() => {
  for (const fake of fakes) fake.stop()
})

/** A node with false metadata, and with the given changes to its other answers. */
const liar = (spec: SpecChain, metadata: Hex, besides: Behaviour = () => undefined) => {
  const fake = startFakeNode({
    behind: spec.local.rpcUrl,
    behaviour: (request) => {
      const [first] = request.params
      if (request.method === 'state_call' && first === 'Metadata_metadata_at_version') {
        return { result: atVersion(metadata) }
      }
      return besides(request)
    },
  })
  fakes.push(fake)
  return fake.rpcUrl
}

const funded = async (starting: Promise<SpecChain>): Promise<SpecChain> => {
  const spec = await starting
  await spec.local.fund(spec.own(alice), 1_000n * UNIT)
  await spec.local.fund(spec.own(bob), 1_000n * UNIT)
  await spec.local.newBlock()
  return spec
}

type Changes = Partial<Parameters<typeof createSubstrateChain>[0]>

/** The chain behind one node, without pins. */
const known = (spec: SpecChain, changes: Changes = {}) =>
  createSubstrateChain({ row: spec.row, rpcUrl: spec.local.wsUrl, memory: createMemory(), ...changes })

const honest = new Map<SpecChain, ReturnType<typeof known>>()
/** The chain behind the honest node, which reads the metadata once for all tests. */
const honestly = (spec: SpecChain): ReturnType<typeof known> => {
  const chain = honest.get(spec) ?? known(spec)
  honest.set(spec, chain)
  return chain
}

const coins = (spec: SpecChain, value = UNIT): Intent => ({ to: spec.own(bob), value, input: '0x' })

const filled = async (spec: SpecChain, chain: ReturnType<typeof known>, intent = coins(spec)) => {
  const { pendingCount } = await chain.transactionCounts(spec.own(alice))
  return (await chain.fill(intent, spec.own(alice), { nonce: pendingCount })) as SubstrateUnsigned
}

/** Signs, and sends to the honest node. */
const sent = async (spec: SpecChain, unsigned: SubstrateUnsigned) => {
  const chain = honestly(spec)
  const { raw } = chain.assemble(unsigned, alice.sign(bytesToSign('substrate', chain.payloadOf(unsigned))))
  return { raw, outcome: await chain.broadcast(raw) }
}

const balanceOf = async (spec: SpecChain, account: Account): Promise<bigint> =>
  (await honestly(spec).balances({ address: spec.own(account), contracts: [] })).coin

const metadataOf = ({ runtime }: SpecChain): Hex => toHex(runtime.bytes)

const TRANSFERS = ['transfer_keep_alive', 'transfer_all'] as const
/** Metadata in which a payment stands for the call that pays all. */
const forgedOf = (spec: SpecChain): Hex => withCallsSwapped(metadataOf(spec), 'Balances', TRANSFERS)
const untrusted = { code: 'metadata_untrusted' }

describe.skipIf(lacksSpecs('metadata that signatures cover', 'bulletin'))('a runtime built with its hash', () => {
  let spec: SpecChain
  beforeAll(async () => {
    spec = await funded(startSpec('bulletin'))
  })
  afterAll(() => spec?.local.stop())

  test('contains in its code the hash that we compute', () => {
    const { genesis } = JSON.parse(
      new TextDecoder().decode(Bun.gunzipSync(readFileSync(specPath('bulletin') ?? ''))),
    ) as { genesis: { raw: { top: Record<string, string> } } }
    // Compressed by zstd, behind the eight bytes that say so (sp_maybe_compressed_blob).
    const stored = Buffer.from(genesis.raw.top['0x3a636f6465']?.slice(2) ?? '', 'hex')
    const code = Buffer.from(Bun.zstdDecompressSync(stored.subarray(8)))
    const hash = metadataHashOf(spec.runtime, spec.row)
    expect(hash).toBe('0xc6250861b2467b8d34c28d48316f7785b1177040663e38e793295d640cb911d3')
    expect(code.includes(Buffer.from(hash.slice(2), 'hex'))).toBe(true)
  })

  test('accepts what is signed with its metadata, without a pin', async () => {
    const unsigned = await filled(spec, honestly(spec))
    expect(unsigned.metadataHash).toBe(metadataHashOf(spec.runtime, spec.row))
    const before = await balanceOf(spec, bob)
    const { raw, outcome } = await sent(spec, unsigned)
    expect(outcome).toEqual({ kind: 'accepted' })
    await spec.local.included(raw)
    expect(await balanceOf(spec, bob)).toBe(before + UNIT)
  })

  longTest('rejects what was signed with metadata where a transfer is another call', async () => {
    const forged = forgedOf(spec)
    const chain = known(spec, { rpcUrl: liar(spec, forged) })
    // 0 coins are `keep_alive: false`, so that the bytes are a whole transfer_all.
    const unsigned = await filled(spec, chain, coins(spec, 0n))
    const honest = await spec.chain.preview(spec.own(alice), [{ to: null, value: 0n, input: unsigned.call }])
    expect(honest[0]?.decoded?.functionName).toBe('balances.transfer_all')
    const before = await balanceOf(spec, alice)
    const { outcome } = await sent(spec, unsigned)
    expect(outcome).toMatchObject({ kind: 'rejected', reason: expect.stringMatching(/bad signature/i) })
    // Without the signed hash the chain would have accepted it.
    const bare = await sent(spec, { ...unsigned, metadataHash: null })
    expect(bare.outcome).toEqual({ kind: 'accepted' })
    await spec.local.included(bare.raw)
    expect(await balanceOf(spec, alice)).toBeLessThan(before / 2n)
    await spec.local.fund(spec.own(alice), 1_000n * UNIT)
    await spec.local.newBlock()
  })

  test('rejects what was signed with another symbol of the coin', async () => {
    const chain = known(spec, { row: { ...spec.row, hashedSymbol: 'KSM' } })
    const { outcome } = await sent(spec, await filled(spec, chain))
    expect(outcome).toMatchObject({ kind: 'rejected', reason: expect.stringMatching(/bad signature/i) })
  })

  const FORGERIES: readonly (readonly [string, (bytes: Hex) => Hex])[] = [
    ['calls have each other’s names', (bytes: Hex) => withNamesSwapped(bytes, 'Balances', TRANSFERS)],
    ['the extension is not listed', (bytes: Hex) => withoutExtension(bytes, 'CheckMetadataHash')],
  ]
  test.each(someOf(FORGERIES, 2))('is not signed for with metadata where %s', async (_, forge) => {
    const chain = known(spec, { rpcUrl: liar(spec, forge(metadataOf(spec))) })
    await expect(filled(spec, chain)).rejects.toMatchObject(untrusted)
  })

  test('is not used with metadata where a pallet has another index than in the type of calls', async () => {
    const forged = withPalletMoved(metadataOf(spec), 'Balances', 200)
    const chain = known(spec, { rpcUrl: liar(spec, forged) })
    await expect(filled(spec, chain)).rejects.toMatchObject({ code: 'node_unavailable' })
  })

  test('is not signed for without its hash on the word of one node', async () => {
    const lie: Behaviour = ({ params: [first] }) =>
      first === 'TaggedTransactionQueue_validate_transaction' ? { result: '0x010100' } : undefined
    const chain = known(spec, { rpcUrl: liar(spec, metadataOf(spec), lie) })
    await expect(filled(spec, chain)).rejects.toMatchObject(untrusted)
  })

  test('a call that a policy decoded with other metadata is not signed', async () => {
    const forged = forgedOf(spec)
    const judging = known(spec, { rpcUrl: liar(spec, forged) })
    const { call } = await filled(spec, honestly(spec), coins(spec, 0n))
    const intent: Intent = { to: null, value: 0n, input: call }
    const readBy = (await runtimeCallIn(judging, intent))?.readBy
    const signing = honestly(spec)
    const own = (await runtimeCallIn(signing, intent))?.readBy
    if (readBy === undefined || own === undefined) throw new Error('expected both to read it')
    await expect(filled(spec, signing, { ...intent, madeBy: readBy })).rejects.toMatchObject({
      code: 'node_unavailable',
    })
    expect((await filled(spec, signing, { ...intent, madeBy: own })).call).toBe(call)
  })
})

describe.skipIf(
  isLeftOut('a runtime with CheckMetadataHash that was built without its hash') ||
    lacksSpecs('a runtime with CheckMetadataHash and no hash', 'hub'),
)('a runtime built without its hash', () => {
  let spec: SpecChain
  beforeAll(async () => {
    spec = await funded(startSpec('hub'))
  })
  afterAll(() => spec?.local.stop())

  const pinned = () => new Map([[spec.runtime.specVersion, spec.runtime.bytesHash]])

  test('is not signed for on the word of one node, but is still read', async () => {
    const chain = known(spec)
    await expect(filled(spec, chain)).rejects.toMatchObject({
      ...untrusted,
      message:
        'Nothing is signed on Polkadot with the metadata of runtime passet-hub 1018002: it was built without the hash that signatures would cover, and it is not pinned.',
    })
    await expect(chain.prepare(coins(spec), spec.own(alice), { pending: async () => [] })).rejects.toMatchObject(
      untrusted,
    )
    const [preview] = await chain.preview(spec.own(alice), [coins(spec)])
    expect(preview).toMatchObject({ success: true, decoded: { functionName: 'balances.transfer_keep_alive' } })
  })

  test('accepts what is signed with pinned metadata, without a hash', async () => {
    const unsigned = await filled(spec, known(spec, { metadataPins: pinned() }))
    expect(unsigned.metadataHash).toBeNull()
    const { raw, outcome } = await sent(spec, unsigned)
    expect(outcome).toEqual({ kind: 'accepted' })
    await spec.local.included(raw)
  })

  test('is not read with other metadata than the pinned one', async () => {
    const forged = forgedOf(spec)
    const chain = known(spec, { rpcUrl: liar(spec, forged), metadataPins: pinned() })
    await expect(filled(spec, chain)).rejects.toMatchObject(untrusted)
    await expect(chain.preview(spec.own(alice), [coins(spec)])).rejects.toMatchObject(untrusted)
  })

  test('is not signed for because several nodes agree', async () => {
    const forged = forgedOf(spec)
    for (const metadata of [metadataOf(spec), forged]) {
      const [rpcUrl, ...furtherRpcUrls] = [liar(spec, metadata), liar(spec, metadata), liar(spec, metadata)]
      const agreed = known(spec, { rpcUrl, furtherRpcUrls })
      await expect(filled(spec, agreed, coins(spec, 0n))).rejects.toMatchObject(untrusted)
    }
  })

  test('is not signed for with a pin of another version', async () => {
    const metadataPins = new Map([[spec.runtime.specVersion - 1, spec.runtime.bytesHash]])
    await expect(filled(spec, known(spec, { metadataPins }))).rejects.toMatchObject(untrusted)
  })
})

describe('a runtime without CheckMetadataHash', () => {
  let spec: SpecChain
  beforeAll(async () => {
    spec = await funded(startOwnRuntime())
  })
  afterAll(() => spec?.local.stop())

  test('is signed for only with pinned metadata', async () => {
    await expect(filled(spec, honestly(spec))).rejects.toMatchObject({
      ...untrusted,
      message: expect.stringContaining('its signatures do not cover the metadata'),
    })
    const { outcome } = await sent(spec, await filled(spec, spec.chain as ReturnType<typeof known>))
    expect(outcome).toEqual({ kind: 'accepted' })
  })

  test('is not signed for with a pin of another version', async () => {
    const metadataPins = new Map([[spec.runtime.specVersion - 1, spec.runtime.bytesHash]])
    await expect(filled(spec, known(spec, { metadataPins }))).rejects.toMatchObject(untrusted)
  })

  test('is not read with other metadata than the pinned one', async () => {
    const metadataPins = new Map([[spec.runtime.specVersion, spec.runtime.bytesHash]])
    const chain = known(spec, { rpcUrl: liar(spec, forgedOf(spec)), metadataPins })
    await expect(filled(spec, chain)).rejects.toMatchObject(untrusted)
    await expect(chain.preview(spec.own(alice), [coins(spec)])).rejects.toMatchObject(untrusted)
  })
})
