// Payloads that @polkadot/api makes for a dapp's signer, signed over HTTP byte for byte, on a real runtime.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { ApiPromise, WsProvider } from '@polkadot/api'
import type { SubmittableExtrinsic } from '@polkadot/api/types'
import { Keyring } from '@polkadot/keyring'
import type { ProviderInterface } from '@polkadot/rpc-provider/types'
import type { SignerPayloadJSON } from '@polkadot/types/types'
import { hexToU8a } from '@polkadot/util'
import { blake2AsHex, blake2AsU8a, encodeAddress, signatureVerify } from '@polkadot/util-crypto'
import type { Sql } from 'postgres'
import postgres from 'postgres'
import { newApprover } from '../approvals/approver.ts'
import { isLong, longTest, someOf } from '../support/long.ts'
import { type Answer, type Service, startService } from '../support/service.ts'
import { devAccount, startSubstrateChain, type TestSubstrateChain } from '../support/substrate.ts'

const network = 'Polkadot'
const PATH = '/transactions/sign-payload'
const SECRET = { developer_secret: 'testnet-secret' }
const PIN = '493817'
const UNIT = 10n ** 10n
/** The mini-secret of the imported wallet. */
const SEED = `0x${'5a'.repeat(32)}` as const
/** What @polkadot/api gets instead of a signature. */
const NONE = `0x01${'00'.repeat(64)}` as const

type Call = SubmittableExtrinsic<'promise'>
type Options = Parameters<Call['signAsync']>[1]
type Payload = { -readonly [Name in keyof SignerPayloadJSON]: SignerPayloadJSON[Name] }

let chain: TestSubstrateChain
let service: Service
let api: ApiPromise
let sql: Sql
let bob: string
/** Imported with SEED. */
let address: string
let id: string

beforeAll(async () => {
  chain = await startSubstrateChain(network)
  service = await startService({ rpcUrls: { [network]: chain.wsUrl, Ethereum: 'http://127.0.0.1:1' } })
  sql = postgres(service.database.url, { max: 1, onnotice: () => {} })
  api = await ApiPromise.create({ provider: new WsProvider(chain.wsUrl) as ProviderInterface, noInitWarn: true })
  bob = encodeAddress((await devAccount('Bob')).publicKey, 0)
  const wallet = { network, name: 'Imported', control_mode: 'developer', private_key: SEED, ...SECRET }
  ;({ address, id } = (await service.post('/wallets/import', wallet)).json)
  await chain.fund(address)
  await chain.fund(bob)
  await chain.newBlock()
})
afterAll(async () => {
  await api?.disconnect()
  await sql?.end()
  await service.close()
  await chain.stop()
})

const call = (pallet: string, method: string, ...values: readonly unknown[]): Call => {
  const made = api.tx[pallet]?.[method]?.(...values)
  if (made === undefined) throw new Error(`the runtime has no ${pallet}.${method}`)
  return made
}
const pay = (to = bob) => call('balances', 'transferKeepAlive', to, 7n)

/** The payload that a dapp shows its signer. */
const shown = async (made: Call, options: Options = {}, from = address): Promise<Payload> => {
  let payload: Payload | undefined
  const signPayload = async (given: Payload) => {
    payload = given
    return { id: 1, signature: NONE }
  }
  await made.signAsync(from, { ...options, signer: { signPayload } })
  if (payload === undefined) throw new Error('no signer was asked')
  return payload
}

/** What @polkadot/keyring signs for the same payload. */
const signedBytes = (payload: Payload): Uint8Array => {
  const made = api.registry.createType('ExtrinsicPayload', payload, { version: payload.version })
  const bytes = made.toU8a({ method: true } as unknown as boolean)
  return bytes.length > 256 ? blake2AsU8a(bytes) : bytes
}

const post = (payload: unknown, more: object = SECRET, from = address): Promise<Answer> =>
  service.post(PATH, { network, signer_wallet_address: from, payload, ...more })

const told = ({ status, json }: Answer) => [status, json.code ?? null]

const rowsOf = (walletId: string) =>
  sql<{ details: Record<string, string> }[]>`
    select details from audit where action = 'transaction_signed' and subject = ${walletId} order by id`

describe('a payload', () => {
  const CASES: readonly (readonly [string, () => Call, Options])[] = [
    ['mortal, as @polkadot/api makes it by itself', () => pay(), {}],
    ['mortal for 8 blocks', () => pay(), { era: 8 }],
    ['immortal', () => pay(), { era: 0 }],
    ['with a tip', () => pay(), { tip: 123_456n }],
    ['longer than 256 bytes, so that its hash is signed', () => call('system', 'remark', `0x${'ab'.repeat(300)}`), {}],
    ['with calls within its call', () => call('utility', 'batchAll', [pay(), call('system', 'remark', '0x68')]), {}],
  ]

  test.each(someOf(CASES, 4))('%s: is signed byte for byte, and the chain takes it', async (_, make, options) => {
    const pair = new Keyring({ type: 'sr25519', ss58Format: 0 }).addFromSeed(hexToU8a(SEED))
    expect(pair.address).toBe(address)
    let bytes = new Uint8Array()
    const signPayload = async (payload: Payload) => {
      bytes = Uint8Array.from(signedBytes(payload))
      const { status, json } = await post(payload)
      expect({ status, json }).toEqual({ status: 200, json: { signature: expect.stringMatching(/^0x01\w{128}$/) } })
      return { id: 1, signature: json.signature }
    }
    const signed = await make().signAsync(address, { ...options, signer: { signPayload } })
    // sr25519 is random: both signatures are valid for the same bytes, and the audit has the hash of these.
    const theirs = pair.sign(bytes, { withType: true })
    for (const signature of [theirs, hexToU8a(signed.signature.toHex())])
      expect(signatureVerify(bytes, signature, address).isValid).toBe(true)
    const last = (await rowsOf(id)).at(-1)?.details
    expect(last).toMatchObject({ signed_bytes_hashes: blake2AsHex(bytes), hash: signed.hash.toHex(), network })
    const extrinsic = signed.toHex()
    await chain.rpc('author_submitExtrinsic', [extrinsic])
    await chain.included(extrinsic)
  })

  test('whose fee an asset pays is signed byte for byte', async () => {
    const payload = await shown(pay(), { assetId: 1984 })
    const { json } = await post(payload)
    expect(signatureVerify(signedBytes(payload), json.signature, address).isValid).toBe(true)
    expect(payload.assetId).toBe('0x01c0070000')
  })

  test('may write the account with any prefix, and quantities in decimal digits', async () => {
    const payload = await shown(pay())
    const decimal = { nonce: String(BigInt(payload.nonce)), specVersion: String(BigInt(payload.specVersion)), tip: '0' }
    const { json } = await post({ ...payload, ...decimal, address: encodeAddress(address, 42), assetId: undefined })
    expect(signatureVerify(signedBytes(payload), json.signature, address).isValid).toBe(true)
  })

  test('that waits for an earlier nonce is pending for its project, and for nobody else', async () => {
    const { hash } = await (async () => {
      const signPayload = async (payload: Payload) => ({ id: 1, signature: (await post(payload)).json.signature })
      return pay().signAsync(address, { nonce: 1_000, signer: { signPayload } })
    })()
    const query = { network, transaction_hash: hash.toHex() }
    expect((await service.get('/transactions/status-by-hash', query)).json.status).toBe('pending')
    const user = (await service.post('/users/login-anonymously', {}, { authorization: undefined })).json
    const stranger = service.as({ projectId: service.project.projectId, apiKey: user.access_token })
    expect((await stranger.get('/transactions/status-by-hash', query)).status).toBe(404)
  })

  test('is signed with the credential of the wallet alone', async () => {
    const payload = await shown(pay())
    expect(told(await post(payload, {}))).toEqual([400, 'credential_required'])
    expect(told(await post(payload, { developer_secret: 'another-secret-of-16' }))).toEqual([403, 'INVALID_SECRET'])
    const nobody = encodeAddress(new Uint8Array(32).fill(7), 0)
    expect(told(await post(payload, SECRET, nobody))).toEqual([404, 'not_found'])
    const { address: evm } = await service.newWallet({ network: 'Ethereum' })
    const other = await service.post(PATH, { network: 'Ethereum', signer_wallet_address: evm, payload, ...SECRET })
    expect(told(other)).toEqual([501, 'not_implemented'])
  })
})

describe('is refused by the name of the field', () => {
  const HASH = `0x${'12'.repeat(32)}`
  const REFUSALS: readonly (readonly [string, string, (payload: Payload) => object])[] = [
    ['another signer', 'address', () => ({ address: bob })],
    ['no address', 'address', () => ({ address: 'nobody' })],
    ['another genesis block', 'genesisHash', () => ({ genesisHash: HASH })],
    ['another version of the runtime', 'specVersion', () => ({ specVersion: '0x00000385' })],
    ['another version of transactions', 'transactionVersion', () => ({ transactionVersion: '0x00000007' })],
    ['fewer extensions', 'signedExtensions', (own) => ({ signedExtensions: own.signedExtensions.slice(1) })],
    [
      'extensions in another order',
      'signedExtensions',
      (own) => ({ signedExtensions: own.signedExtensions.toReversed() }),
    ],
    ['another version of extrinsics', 'version', () => ({ version: 5 })],
    ['a call that the runtime does not have', 'method', () => ({ method: '0xfe00' })],
    ['no call', 'method', () => ({ method: '0x' })],
    ['half of a byte', 'method', (own) => ({ method: `${own.method}0` })],
    ['trailing bytes after the call', 'method', (own) => ({ method: `${own.method}00` })],
    ['a call that is cut off', 'method', (own) => ({ method: own.method.slice(0, -2) })],
    [
      'a list that is too long for the runtime',
      'method',
      () => ({ method: call('uniques', 'setMetadata', 1, 1, `0x${'ab'.repeat(2_000)}`, false).method.toHex() }),
    ],
    [
      'an era that begins at another block',
      'era',
      (own) => ({ blockNumber: `0x${(BigInt(own.blockNumber) + 1n).toString(16)}` }),
    ],
    ['an era of a length that is no era', 'era', () => ({ era: '0x140000' })],
    ['an era longer than the runtime remembers', 'era', () => ({ era: '0x1f00' })],
    ['an era of two blocks', 'era', () => ({ era: '0x0000' })],
    ['another first block', 'blockHash', () => ({ blockHash: HASH })],
    ['an immortal extrinsic of a later block', 'blockHash', () => ({ era: '0x00' })],
    ['a nonce above its type', 'nonce', () => ({ nonce: '0x100000000' })],
    ['a tip above its type', 'tip', () => ({ tip: `0x1${'0'.repeat(32)}` })],
    ['an asset that is cut off', 'assetId', () => ({ assetId: '0x01c00700' })],
    ['an asset outside of an Option', 'assetId', () => ({ assetId: '0xc0070000' })],
    ['the hash of metadata that is not signed', 'metadataHash', () => ({ metadataHash: HASH })],
    ['mode 1 where the runtime cannot check it', 'mode', () => ({ mode: 1, metadataHash: HASH })],
    ['mode 2', 'mode', () => ({ mode: 2 })],
    ['a field of an extension that is not known', 'extra', () => ({ extra: '0x00' })],
  ]

  test.each(someOf(REFUSALS, 3))('%s: %s', async (_, field, change) => {
    const before = (await rowsOf(id)).length
    const payload = await shown(pay())
    const answer = await post({ ...payload, ...change(payload) })
    expect(told(answer)).toEqual([400, 'invalid_input'])
    expect(answer.json.error).toContain(`"payload.${field}"`)
    expect((await rowsOf(id)).length).toBe(before)
  })

  test('bytes that are no call by the metadata, before the runtime is asked', async () => {
    const payload = await shown(pay())
    for (const method of ['0xfe00', `${payload.method}00`, payload.method.slice(0, -2)])
      expect((await post({ ...payload, method })).json.error).toContain('must be a SCALE-encoded call')
  })

  longTest('an era that has ended', async () => {
    const payload = await shown(pay(), { era: 4 })
    await chain.newBlock(5)
    const ended = async () => (await post(payload)).json.error ?? ''
    // The service looks at the newest final block once a second.
    for (const deadline = Date.now() + 30_000; !(await ended()).includes('"payload.era"'); ) {
      if (Date.now() > deadline) throw new Error(await ended())
      await chain.newBlock()
    }
    expect(await ended()).toContain('Field "payload.era" must end after the block')
  })

  test('a first block that the node does not know yet', async () => {
    const payload = await shown(pay())
    const number = BigInt(payload.blockNumber) + 64n * 1_000n
    const answer = await post({ ...payload, blockNumber: String(number), blockHash: HASH })
    expect(told(answer)).toEqual([503, 'node_unavailable'])
  })

  longTest('everything, if the metadata is not trusted', async () => {
    const unpinned = await startService({
      rpcUrls: { [network]: chain.wsUrl },
      variables: { POLKADOT_METADATA_PIN: '' },
    })
    try {
      const wallet = await unpinned.newWallet({ network })
      const payload = await shown(pay(), {}, wallet.address)
      const body = { network, signer_wallet_address: wallet.address, payload, ...SECRET }
      const answer = await unpinned.post(PATH, body)
      expect(told(answer)).toEqual([503, 'metadata_untrusted'])
      expect(answer.json.error).toContain('its signatures do not cover the metadata, and it is not pinned')
    } finally {
      await unpinned.close()
    }
  })
})

describe('with a policy', () => {
  const policyFor = async (wallet: string, more: object = {}) => {
    const rule = (argument: string, value: string) => ({ argument, operator: 'eq', value })
    const { status, json } = await service.post('/policies', {
      ...{ network, wallet_address: wallet, ...more, user_pin: PIN, ...SECRET },
      argument_rules: [rule('decodedInput.function', 'balances.transfer_keep_alive'), rule('decodedInput.dest', bob)],
    })
    expect({ status, json }).toMatchObject({ status: 200 })
    return json.uuid as string
  }
  const newWallet = async () => {
    const wallet = await service.newWallet({ network, pin: PIN, ownerId: crypto.randomUUID() })
    await chain.fund(wallet.address, 1_000n * UNIT)
    await chain.newBlock()
    return wallet
  }

  test('is judged as `sign` judges its call, and charged', async () => {
    const wallet = await newWallet()
    const from = wallet.address
    const toldOf = async (made: Call, options: Options = {}) =>
      told(await post(await shown(made, options, from), SECRET, from))
    const DENIED = [403, 'policy_denied']
    expect(await toldOf(pay())).toEqual([400, 'credential_required'])
    const uuid = await policyFor(from)
    const charged = async () => {
      const [row] = await sql`select uses, spent_fee from policies where id = ${uuid}`
      return { uses: Number(row?.uses), fee: BigInt(row?.spent_fee) }
    }
    const payload = await shown(pay(), {}, from)
    const { json } = await post(payload, SECRET, from)
    expect(signatureVerify(signedBytes(payload), json.signature, from).isValid).toBe(true)
    const { uses, fee } = await charged()
    expect({ uses, isCharged: fee > 0n }).toEqual({ uses: 1, isCharged: true })
    expect((await rowsOf(wallet.id)).at(-1)?.details).toMatchObject({ policy: uuid })

    if (isLong) expect(await toldOf(pay(from))).toEqual(DENIED)
    expect(await toldOf(call('system', 'remark', '0x68'))).toEqual(DENIED)
    const bounds = [
      [{ era: 0 }, '"payload.era" must be of at most 32 blocks'],
      [{ era: 64 }, '"payload.era" must be of at most 32 blocks'],
      [{ tip: fee * 3n }, `"payload.tip" must be at most`],
      [{ assetId: 1984 }, '"payload.assetId" must be null'],
      [{ nonce: 5 }, 'only the next nonce can be used, which is 0'],
    ] as const
    for (const [options, part] of someOf<(typeof bounds)[number]>(bounds, 3)) {
      const answer = await post(await shown(pay(), options, from), SECRET, from)
      expect({ told: told(answer), error: answer.json.error }).toEqual({
        told: DENIED,
        error: expect.stringContaining(part),
      })
    }
    expect((await charged()).uses).toBe(1)
    expect(await toldOf(pay(), { tip: 5n, era: 8 })).toEqual([200, null])
    expect((await charged()).uses).toBe(2)
    // The owner's own credential is bound by none of this.
    const own = await shown(call('system', 'remark', '0x68'), { era: 0, nonce: 5 }, from)
    expect(told(await post(own, { user_pin: PIN }, from))).toEqual([200, null])
  })

  longTest('that needs approval, is signed once it is granted, and only the same call', async () => {
    const approver = await newApprover(service)
    const { address: from } = await newWallet()
    await policyFor(from, { require_approval: { of: 1, from: [approver.id], expires_in_seconds: 3600 } })
    const payload = await shown(pay(), {}, from)
    const { status, json } = await post(payload, SECRET, from)
    expect({ status, waiting: json.status }).toEqual({ status: 202, waiting: 'waiting' })
    const { approval_id } = json
    expect((await approver.decide(approval_id)).status).toBe(200)
    const other = await shown(call('balances', 'transferKeepAlive', bob, 8n), {}, from)
    expect(told(await post(other, { ...SECRET, approval_id }, from))).toEqual([409, 'approval_mismatch'])
    const granted = await post(payload, { ...SECRET, approval_id }, from)
    expect(signatureVerify(signedBytes(payload), granted.json.signature, from).isValid).toBe(true)
  })
})
