// Compares our signing payloads with signatures of others that a chain accepted; and refuses runtimes that we cannot
// sign for.

import { describe, expect, test } from 'bun:test'
import { sr25519Verify } from '@polkadot/util-crypto'
import fc from 'fast-check'
import type { Hex, SubstrateUnsigned } from '../../../src/chains/chain.ts'
import { assemble, payloadOf } from '../../../src/chains/substrate/extrinsic.ts'
import { feeAssetOf } from '../../../src/chains/substrate/fee-assets.ts'
import type { Runtime } from '../../../src/chains/substrate/runtime.ts'
import { blake2Hash, compact, toHex } from '../../../src/chains/substrate/scale.ts'
import { extrinsicFormOf } from '../../../src/chains/substrate/signed-extensions.ts'
import { traceSignature } from '../../../src/vault/rooms/keys/facts.ts'
import { bytesToSign } from '../../../src/vault/rooms/keys/payloads.ts'
import { longTest, roundsOf } from '../../support/long.ts'
import { assetHubRuntime, varaRuntime } from './metadata.ts'

const vara = varaRuntime()
const WHY = 'VARA_METADATA does not name a file with the metadata of Vara'
if (vara === null) console.info(`skipped: ${WHY}`)

/** The development account //Alice with Vara's prefix. */
const ALICE = 'kGkLEU3e3XXkJp2WK4eNpVmSab5xUNL9QtmLPh8QfCL2EgotW'
const ALICE_KEY = Buffer.from('d43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d', 'hex')

/** Payments of Alice to herself on Vara's testnet (October 2025), as a public write-up of x402 on Vara prints them. */
const PAYMENTS: readonly (Pick<SubstrateUnsigned, 'nonce' | 'blockHash'> & { block: number; signature: string })[] = [
  {
    nonce: 0x7b25,
    block: 0x0145bfcc,
    blockHash: '0x74d014f3303007763ba656b65f28846a953e3ec69fd4a11973291d95ced3d6a6',
    signature:
      '98a0712d396197c0684056ad795b5f4ae4bcc39e3734cf9f964fd3504e5bbd257c8f4aca2ebded1719719d5e2adb349f5b52cc5dfec4c5c380153964c186528e',
  },
  {
    nonce: 0x7c6a,
    block: 0x014cfcc2,
    blockHash: '0xef05845f28c81aed22de5ade250a9fa24926a9f792dd23db480d6f537f4340d0',
    signature:
      '7ec1a3f2c322ed7e44a447baf727b8bed821e329044be45e213957d0273fc8301c9a8134752d1ff58db958a9dc6437fec981fb2513e9b43b6d666694138c738a',
  },
]

const unsignedOf = (runtime: Runtime, { nonce, block, blockHash }: (typeof PAYMENTS)[number]): SubstrateUnsigned => ({
  family: 'substrate',
  from: ALICE,
  nonce,
  to: ALICE,
  value: 100_000_000_000n,
  input: '0x',
  gasLimit: 0n,
  call: '0x050300d43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d0700e8764817',
  tip: 0n,
  feeAsset: null,
  form: runtime.form,
  metadataHash: null,
  specVersion: 0x780,
  transactionVersion: 1,
  genesisHash: '0x525639f713f397dcf839bd022cd821f367ebcf179de7b9253531f8adbe5436d6',
  era: { current: block, period: 64 },
  blockHash,
  validUntilBlock: BigInt(block) + 63n,
})

describe.skipIf(vara === null)('an extrinsic of Vara', () => {
  const runtime = vara as Runtime

  test.each(PAYMENTS)('has the signing payload of a wallet that signed it: nonce $nonce', (payment) => {
    const unsigned = unsignedOf(runtime, payment)
    const signature = Buffer.from(payment.signature, 'hex')
    expect(sr25519Verify(bytesToSign('substrate', payloadOf(unsigned)), signature, ALICE_KEY)).toBe(true)
    for (const change of [
      { nonce: payment.nonce + 1 },
      { tip: 1n },
      { specVersion: 0x781 },
      { blockHash: unsigned.genesisHash },
    ]) {
      expect(sr25519Verify(bytesToSign('substrate', payloadOf({ ...unsigned, ...change })), signature, ALICE_KEY)).toBe(
        false,
      )
    }
  })

  test('has no unsupported extensions', () => {
    expect(runtime.form.unsupported).toEqual([])
    expect(runtime.registry.signedExtensions).toContain('StakingBlackList')
  })

  test('is decoded to what it was made of', () => {
    const [payment] = PAYMENTS
    if (payment === undefined) throw new Error('there is no payment')
    const { raw } = assemble(unsignedOf(runtime, payment), Buffer.from(payment.signature, 'hex'))
    const extrinsic = runtime.registry.createType('Extrinsic', raw)
    expect(extrinsic.toHuman()).toMatchObject({
      isSigned: true,
      signer: { Id: ALICE },
      nonce: '31,525',
      tip: '0',
      era: { MortalEra: { period: '64', phase: '12' } },
      method: { section: 'balances', method: 'transferKeepAlive', args: { value: '100,000,000,000' } },
    })
  })
})

test('an extrinsic contains exactly the bytes of the call, even if the codec would encode it differently', () => {
  const runtime = assetHubRuntime()
  const [payment] = PAYMENTS
  if (payment === undefined) throw new Error('there is no payment')
  // Balances.transfer_keep_alive to MultiAddress::Index(7), which the codec mistakes for an index of an older form.
  const call: Hex = '0x0a03011c04'
  expect(runtime.registry.createType('Call', call).toHex() as string).not.toBe(call)
  const { raw } = assemble({ ...unsignedOf(runtime, payment), call }, Buffer.alloc(64, 1))
  expect(raw.endsWith(call.slice(2))).toBe(true)
})

longTest('the hash that custody computes is that of the signed extrinsic, whatever its length', () => {
  const runtime = assetHubRuntime()
  const [payment] = PAYMENTS
  if (payment === undefined) throw new Error('there is no payment')
  const signature = Buffer.alloc(64, 1)
  for (const bytes of [10, 300, 20_000]) {
    const call = runtime.calls.system?.remark?.(`0x${'00'.repeat(bytes)}`).toHex() ?? '0x'
    const unsigned = { ...unsignedOf(runtime, payment), call }
    const payload = payloadOf(unsigned)
    const { hash } = runtime.registry.createType('Extrinsic', assemble(unsigned, signature).raw)
    const of = { payload, bytes: bytesToSign('substrate', payload), signature, publicKey: ALICE_KEY }
    expect(traceSignature(of).hash).toBe(hash.toHex())
  }
})

test('a payload above 256 bytes is hashed before it is signed', () => {
  const runtime = assetHubRuntime()
  const [payment] = PAYMENTS
  if (payment === undefined) throw new Error('there is no payment')
  const call = (bytes: number): Hex => runtime.calls.system?.remark?.(`0x${'00'.repeat(bytes)}`).toHex() ?? '0x'
  expect(
    bytesToSign('substrate', payloadOf({ ...unsignedOf(runtime, payment), call: call(10) })).length,
  ).toBeGreaterThan(32)
  expect(bytesToSign('substrate', payloadOf({ ...unsignedOf(runtime, payment), call: call(300) }))).toHaveLength(32)
})

describe('our bytes and those of the codec', () => {
  const runtime = assetHubRuntime()
  const [payment] = PAYMENTS
  if (payment === undefined) throw new Error('there is no payment')
  const base = { ...unsignedOf(runtime, payment), call: '0x00000401' as Hex }
  const locationOf = (id: number) => ({ parents: 0, interior: { X2: [{ PalletInstance: 50 }, { GeneralIndex: id }] } })
  const byCodec = (unsigned: SubstrateUnsigned, assetId: object | undefined) =>
    runtime.registry.createType(
      'ExtrinsicPayload',
      {
        ...unsigned,
        assetId,
        method: unsigned.call,
        era: runtime.registry.createType('ExtrinsicEra', unsigned.era),
        mode: unsigned.metadataHash === null ? 0 : 1,
      },
      { version: 4 },
    )

  test('are the same for every era, nonce, tip, fee asset and hash', () => {
    const hash = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes): Hex => toHex(bytes))
    const changes = fc.record({
      nonce: fc.oneof(fc.integer({ min: 0, max: 70 }), fc.integer({ min: 16_000, max: 17_000 }), fc.nat(2 ** 32 - 1)),
      tip: fc.oneof(fc.bigInt(0n, 2n ** 31n), fc.bigInt(0n, 2n ** 128n - 1n)),
      specVersion: fc.nat(2 ** 32 - 1),
      transactionVersion: fc.nat(2 ** 32 - 1),
      era: fc.record({ current: fc.nat(2 ** 31), period: fc.integer({ min: 2, max: 16 }).map((power) => 2 ** power) }),
      blockHash: hash,
      metadataHash: fc.option(hash),
    })
    const asset = fc.option(fc.oneof(fc.nat(70), fc.nat(2 ** 32 - 1)))
    fc.assert(
      fc.property(changes, asset, (changed, id) => {
        const feeAsset = id === null ? null : feeAssetOf(runtime, { network: 'Polkadot' }, `asset:${id}`)
        const unsigned = { ...base, ...changed, feeAsset }
        expect(toHex(bytesToSign('substrate', payloadOf(unsigned)))).toBe(
          codecSigns(unsigned, id === null ? undefined : locationOf(id)),
        )
      }),
      { seed: 20_261_122, numRuns: roundsOf(300) },
    )
  })

  const codecSigns = (unsigned: SubstrateUnsigned, assetId: object | undefined): Hex => {
    const payload = byCodec(unsigned, assetId).toU8a({ method: true })
    return toHex(payload.length > 256 ? blake2Hash(payload) : payload)
  }

  test.each([0n, 63n, 64n, 16_383n, 16_384n, 2n ** 30n - 1n, 2n ** 30n, 2n ** 64n, 2n ** 128n - 1n])(
    'have %p in as few bytes as it takes',
    (value) => {
      expect(toHex(compact(value))).toBe(toHex(runtime.registry.createType('Compact<u128>', value).toU8a()))
    },
  )
})

/** A runtime with a changed list of extensions. */
const formWith = (change: (listed: readonly Listed[]) => readonly Listed[]) => {
  const { registry, metadata } = assetHubRuntime()
  const { asV15 } = metadata
  const changed = change([...asV15.extrinsic.signedExtensions])
  const other = { version: 15, asLatest: metadata.asLatest, asV15: { extrinsic: { signedExtensions: changed } } }
  return extrinsicFormOf(registry, other as unknown as typeof metadata)
}

const withExtensions = (change: Parameters<typeof formWith>[0]): readonly string[] => formWith(change).unsupported

type Listed = ReturnType<typeof assetHubRuntime>['metadata']['asV15']['extrinsic']['signedExtensions'][number]

describe('a signed extension', () => {
  const named = (listed: readonly Listed[], name: string): Listed => {
    const found = listed.find(({ identifier }) => String(identifier) === name)
    if (found === undefined) throw new Error(`no ${name}`)
    return found
  }
  const as = (each: Listed, identifier: string) => ({
    ...{ type: each.type, additionalSigned: each.additionalSigned },
    identifier,
  })

  test('that is unknown and needs data is refused by its name', () => {
    const wantsMore = withExtensions((listed) => [
      ...listed,
      as(named(listed, 'CheckNonce'), 'CheckSomething') as never,
    ])
    expect(wantsMore).toEqual(['CheckSomething'])
    expect(withExtensions((listed) => [...listed, as(named(listed, 'CheckWeight'), 'LooksOnly') as never])).toEqual([])
  })

  longTest('that is unknown is left empty if its types allow that: an Option, a variant Disabled', () => {
    const { form, metadata } = assetHubRuntime()
    const hashed = named([...metadata.asV15.extrinsic.signedExtensions], 'CheckMetadataHash')
    // What stands in the extrinsic for it is a variant Disabled or Enabled, and what is signed an Option.
    const unknown = formWith((listed) => [...listed, as(hashed, 'AsSomebody') as never])
    expect(unknown.unsupported).toEqual([])
    expect(unknown.extra).toEqual([...form.extra, '0x00'])
    expect(unknown.implicit).toEqual([...form.implicit, '0x00'])
  })

  test('that is known by name is refused if its types have another shape', () => {
    const other = withExtensions((listed) => [as(named(listed, 'CheckGenesis'), 'CheckNonce') as never])
    expect(other).toEqual(['CheckNonce'])
  })
})
