// Payloads of @polkadot/api on runtimes of today: which metadata their signatures must cover.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { ApiPromise, WsProvider } from '@polkadot/api'
import type { ProviderInterface } from '@polkadot/rpc-provider/types'
import type { SignerPayloadJSON } from '@polkadot/types/types'
import { u8aToHex } from '@polkadot/util'
import type { Hex, SignerPayload } from '../../../src/chains/chain.ts'
import { createSubstrateChain } from '../../../src/chains/substrate/chain.ts'
import { metadataHashOf } from '../../../src/chains/substrate/trust.ts'
import { bytesToSign } from '../../../src/vault/rooms/keys/payloads.ts'
import { devAccount } from '../../support/substrate.ts'
import { createMemory } from '../evm/memory.ts'
import { lacksSpecs, type Spec, type SpecChain, startSpec } from './specs.ts'

/** Current runtimes take seconds to start on a busy machine. */
setDefaultTimeout(120_000)
const UNIT = 10n ** 10n
const OTHER: Hex = `0x${'12'.repeat(32)}`

const hex = (text: string): Hex => `0x${text.slice(2)}`

const readable = (payload: SignerPayloadJSON): SignerPayload => ({
  ...{ address: payload.address, signedExtensions: payload.signedExtensions, mode: payload.mode === 1 ? 1 : 0 },
  ...{ method: hex(payload.method), era: hex(payload.era), blockHash: hex(payload.blockHash) },
  ...{ genesisHash: hex(payload.genesisHash), blockNumber: BigInt(payload.blockNumber), nonce: BigInt(payload.nonce) },
  ...{ tip: BigInt(payload.tip), specVersion: BigInt(payload.specVersion) },
  ...{ transactionVersion: BigInt(payload.transactionVersion) },
  assetId: payload.assetId ? hex(String(payload.assetId)) : null,
  metadataHash: payload.metadataHash ? hex(payload.metadataHash) : null,
})

const startWorld = async (spec: Spec) => {
  const on = await startSpec(spec)
  const alice = await devAccount('Alice')
  const from = on.own(alice)
  await on.local.fund(from, 1_000n * UNIT)
  await on.local.newBlock()
  const provider = new WsProvider(on.local.wsUrl)
  const api = await ApiPromise.create({ provider: provider as unknown as ProviderInterface, noInitWarn: true })
  type Options = Parameters<ReturnType<typeof remark>['signAsync']>[1]
  const remark = () => {
    const made = api.tx.system?.remark?.('0x68')
    if (made === undefined) throw new Error('the runtime has a System')
    return made
  }
  type Reader = Pick<ReturnType<typeof createSubstrateChain>, 'signerPayloads' | 'payloadOf'>
  /** What a dapp's payload is signed as; null for a chain that reads none. */
  const signed = async (chain: Reader, options: Options, change: Partial<SignerPayload> = {}) => {
    const signPayload = async (payload: SignerPayloadJSON) => {
      const read = await chain.signerPayloads?.read({ payload: { ...readable(payload), ...change }, from })
      if (read === undefined) throw new Error('expected a chain that reads payloads')
      const bytes = bytesToSign('substrate', chain.payloadOf(read.unsigned))
      const signature = chain.signerPayloads?.signature(read.unsigned, alice.sign(bytes)) ?? OTHER
      // What the keyring of @polkadot signs.
      const theirs = api.registry.createType('ExtrinsicPayload', payload, { version: payload.version })
      const raw = theirs.toU8a({ method: true } as unknown as boolean)
      if (Object.keys(change).length === 0) expect(u8aToHex(bytes)).toBe(u8aToHex(raw))
      return { id: 1, signature }
    }
    return await remark().signAsync(from, { ...options, signer: { signPayload } })
  }
  /** Whether the chain takes it. */
  const included = async (extrinsic: string) => {
    await on.local.rpc('author_submitExtrinsic', [extrinsic])
    return on.local.included(extrinsic)
  }
  const known = (changes: Partial<Parameters<typeof createSubstrateChain>[0]> = {}) =>
    createSubstrateChain({ row: on.row, rpcUrl: on.local.wsUrl, memory: createMemory(), ...changes })
  const pinned = () => known({ metadataPins: new Map([[on.runtime.specVersion, on.runtime.bytesHash]]) })
  const stop = async () => {
    await api.disconnect()
    await on.local.stop()
  }
  return {
    on,
    from,
    known,
    pinned,
    signed,
    included,
    hash: (on: SpecChain) => metadataHashOf(on.runtime, on.row),
    stop,
  }
}

type World = Awaited<ReturnType<typeof startWorld>>

describe.skipIf(lacksSpecs('payloads that cover the metadata', 'bulletin'))('a runtime built with its hash', () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld('bulletin')
  })
  afterAll(() => world?.stop())

  test('takes a payload in mode 1 without a pin, byte for byte', async () => {
    const { on, known, signed, included, hash } = world
    const made = await signed(known(), { mode: 1, metadataHash: hash(on) })
    await included(made.toHex())
  })

  test('is not signed for in mode 1 with the hash of other metadata, or none', async () => {
    const { known, signed } = world
    for (const metadataHash of [OTHER, null]) {
      const options = { mode: 1, ...(metadataHash === null ? {} : { metadataHash }) }
      await expect(signed(known(), options)).rejects.toMatchObject({
        code: 'invalid_input',
        message: expect.stringContaining('Field "payload.metadataHash" must be 0x'),
      })
    }
  })

  test('is signed for in mode 0 only with pinned metadata', async () => {
    const { known, pinned, signed, included } = world
    await expect(signed(known(), {})).rejects.toMatchObject({
      code: 'metadata_untrusted',
      message: expect.stringContaining('Field "payload.mode" must be 1'),
    })
    const made = await signed(pinned(), {})
    await included(made.toHex())
  })
})

describe.skipIf(lacksSpecs('payloads for a runtime without its hash', 'hub'))(
  'a runtime built without its hash',
  () => {
    let world: World
    beforeAll(async () => {
      world = await startWorld('hub')
    })
    afterAll(() => world?.stop())

    test('is signed for in mode 0 with pinned metadata, and never in mode 1', async () => {
      const { on, known, pinned, signed, included, hash } = world
      const cannot = { code: 'invalid_input', message: expect.stringContaining('Field "payload.mode" must be 0') }
      await expect(signed(pinned(), { mode: 1, metadataHash: hash(on) })).rejects.toMatchObject(cannot)
      for (const options of [{}, { mode: 1, metadataHash: hash(on) }])
        await expect(signed(known(), options)).rejects.toMatchObject({ code: 'metadata_untrusted' })
      const made = await signed(pinned(), {})
      await included(made.toHex())
    })

    test('is not made to look as if it had the hash by a payload with a false first block', async () => {
      const { on, from, pinned, signed, hash } = world
      const chain = pinned()
      const options = { mode: 1, metadataHash: hash(on) }
      const later = { blockNumber: 63n, era: '0xf503' } as const
      await expect(signed(chain, options, later)).rejects.toMatchObject({ code: 'invalid_input' })
      const remark = on.intentOf(on.call('system', 'remark', '0x68'))
      expect(await chain.fill(remark, from, { nonce: 0 })).toMatchObject({ metadataHash: null })
    })
  },
)
