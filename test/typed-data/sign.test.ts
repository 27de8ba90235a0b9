// Signed typed data: by keys, without a reachable node, and everything that is refused. On contracts:
// contracts.test.ts.

import { describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { type Hex, hashTypedData, verifyTypedData } from 'viem'
import { freeze, unfreeze } from '../../src/operators/freezes/freeze.ts'
import { commonService } from '../support/common-service.ts'
import { longTest, someOf } from '../support/long.ts'
import type { Answer } from '../support/service.ts'
import { mail, permit, typesOf } from './data.ts'

const PIN = '493817'
const secret = { developer_secret: 'testnet-secret' }
const pin = { user_pin: PIN }
const both = { ...secret, ...pin }
/** Polygon's testnet. */
const CHAIN_ID = 80_002

const service = await commonService()
const { sql } = service.database

type Wallet = { readonly address: Hex; readonly network: string; readonly id: string; readonly owner_id: string }
const newWallet = (options: object = {}): Promise<Wallet> => service.newWallet({ network: 'Polygon', ...options })

type Data = ReturnType<typeof mail>

const sign = (wallet: Pick<Wallet, 'address' | 'network'>, typed_data: unknown, credential: object = secret) =>
  service.post('/transactions/sign-typed-data', {
    network: wallet.network,
    signer_wallet_address: wallet.address,
    typed_data,
    ...credential,
  })

const told = (answer: Answer) => ({ status: answer.status, code: answer.json?.code })

const signatureOf = (answer: Answer): Hex => {
  if (answer.status !== 200) throw new Error(answer.text)
  expect(Object.keys(answer.json)).toEqual(['signature'])
  return answer.json.signature
}

const verified = (wallet: Wallet, data: Data, signature: Hex) =>
  verifyTypedData({ address: wallet.address, signature, ...data } as never)

const audited = async (wallet: Wallet) => {
  const rows =
    await sql`select details from audit where subject = ${wallet.id} and action = 'message_signed' order by id`
  return rows.map((row) => row.details)
}

describe("a key's typed data", () => {
  test('is signed without a node, with the type of the domain and without it', async () => {
    const wallet = await newWallet()
    const data = mail({ name: 'Mail', version: '1', chainId: CHAIN_ID, verifyingContract: wallet.address })
    const EIP712Domain = [
      { name: 'name', type: 'string' },
      { name: 'version', type: 'string' },
      { name: 'chainId', type: 'uint256' },
      { name: 'verifyingContract', type: 'address' },
    ]
    const signature = signatureOf(await sign(wallet, data))
    expect(await verified(wallet, data, signature)).toBe(true)
    expect(await verified(wallet, { ...data, message: { ...data.message, contents: 'Hello.' } }, signature)).toBe(false)
    const declared = { ...data, types: { ...data.types, EIP712Domain } }
    expect(signatureOf(await sign(wallet, declared))).toBe(signature)
  })

  test('takes integers as numbers and texts, with the same signature', async () => {
    const wallet = await newWallet()
    const { address: owner } = wallet
    const of = (chainId: number | string, value: unknown) =>
      permit({ chainId, verifyingContract: owner }, { owner, spender: owner, value, nonce: 0, deadline: '0xff' })
    const signatures = new Set<Hex>()
    for (const chainId of [CHAIN_ID, String(CHAIN_ID), `0x${CHAIN_ID.toString(16)}`]) {
      for (const value of [1_000_000, '1000000', '0xf4240']) {
        signatures.add(signatureOf(await sign(wallet, of(chainId, value))))
      }
    }
    expect(signatures.size).toBe(1)
  })

  test('may have a domain without a chain, or without anything', async () => {
    const wallet = await newWallet()
    for (const data of [mail({}), mail({ name: 'Mail' })]) {
      expect(await verified(wallet, data, signatureOf(await sign(wallet, data)))).toBe(true)
    }
  })

  longTest('may contain texts of any script, and many values', async () => {
    const wallet = await newWallet()
    const { types, primaryType } = { types: typesOf({ Note: 'string text,uint256[] many' }), primaryType: 'Note' }
    for (const text of ['', 'a\nb\t', 'Grüße, 世界, 👩🏽‍🚀', '\ufeff', '0xdeadbeef', 'x'.repeat(900_000)]) {
      const data = { domain: {}, types, primaryType, message: { text, many: ['1', 2] } }
      expect(await verified(wallet, data as never, signatureOf(await sign(wallet, data)))).toBe(true)
    }
    const many = Array.from({ length: 9_000 }, (_, at) => at)
    const data = { domain: {}, types, primaryType, message: { text: '', many } }
    expect(await verified(wallet, data as never, signatureOf(await sign(wallet, data)))).toBe(true)
  })

  test('is in the audit by its primary type, its domain and its hash', async () => {
    const wallet = await newWallet()
    const data = mail({ name: 'Mail', chainId: CHAIN_ID })
    await sign(wallet, data)
    await sign(wallet, data, { developer_secret: 'wrong' })
    await sign(wallet, { ...data, message: {} })
    expect(await audited(wallet)).toEqual([
      {
        network: 'Polygon',
        message_type: 'typed_data',
        primary_type: 'Mail',
        domain: JSON.stringify({ name: 'Mail', chainId: String(CHAIN_ID) }),
        hash: hashTypedData(data as never),
      },
    ])
  })

  test('is not signed if the audit row cannot be written', async () => {
    const wallet = await newWallet()
    await sql`alter table audit add constraint refuse check (action <> 'message_signed') not valid`
    const answer = await sign(wallet, mail({}))
    await sql`alter table audit drop constraint refuse`
    expect(told(answer)).toEqual({ status: 500, code: 'internal' })
  })
})

/** Of all requests that are refused before its PIN is tried. */
const untouched = await newWallet({ pin: PIN })

describe('is refused, with the field:', () => {
  const data = mail({ name: 'Mail', chainId: CHAIN_ID })
  const { message } = data
  const deep = (levels: number): unknown => (levels === 0 ? 'x' : [deep(levels - 1)])
  const cases: readonly (readonly [string, unknown, string])[] = [
    ['no typed data', null, 'Field "typed_data" is required.'],
    ['a text', 'Mail', 'Field "typed_data" must be an object.'],
    ['no domain', { ...data, domain: undefined }, 'Field "typed_data.domain" is required.'],
    ['no types', { ...data, types: undefined }, 'Field "typed_data.types" is required.'],
    ['no primary type', { ...data, primaryType: undefined }, 'Field "typed_data.primaryType" is required.'],
    ['no message', { ...data, message: undefined }, 'Field "typed_data.message" is required.'],
    ['a list as message', { ...data, message: [] }, 'Field "typed_data.message" must be an object.'],
    ['a further field', { ...data, metadata: {} }, 'Field "typed_data.metadata" is unknown here'],
    [
      'a further member of the domain',
      { ...data, domain: { app: 'Mail' } },
      'Field "typed_data.domain.app" is unknown',
    ],
    [
      'a chain id that is no integer',
      { ...data, domain: { chainId: 1.5 } },
      'Field "typed_data.domain.chainId" must be an integer',
    ],
    [
      'the chain id of another network',
      { ...data, domain: { chainId: 1 } },
      'Field "typed_data.domain.chainId" must be 80002',
    ],
    [
      'another one in a text',
      { ...data, domain: { chainId: '0x1' } },
      'Field "typed_data.domain.chainId" must be 80002',
    ],
    [
      'a verifying contract that is no address',
      { ...data, domain: { verifyingContract: 'vitalik.eth' } },
      'Field "typed_data.domain.verifyingContract" must be an address',
    ],
    ['types that are no lists', { ...data, types: { Mail: {} } }, 'Field "typed_data.types.Mail" must be a list.'],
    [
      'a member without a type',
      { ...data, types: { Mail: [{ name: 'a' }] } },
      'Field "typed_data.types.Mail.0.type" is required.',
    ],
    [
      'an unknown type',
      { ...data, types: typesOf({ Mail: 'Person from' }) },
      'Field "typed_data.types.Mail.0.type" names a struct',
    ],
    [
      'a cycle of types',
      { ...data, types: typesOf({ Mail: 'Mail[] m' }) },
      'Field "typed_data.types.Mail.0.type" makes a struct contain itself.',
    ],
    ['a missing member', { ...data, message: { ...message, to: null } }, 'Field "typed_data.message.to" is required'],
    ['a further member', { ...data, message: { ...message, cc: 1 } }, 'Field "typed_data.message.cc" is no field'],
    [
      'a number out of range',
      { ...data, types: typesOf({ Box: 'uint8 value' }), primaryType: 'Box', message: { value: 256 } },
      'Field "typed_data.message.value" does not fit the type uint8.',
    ],
    [
      'a number that is not exact',
      { ...data, types: typesOf({ Box: 'uint256 value' }), primaryType: 'Box', message: { value: 2 ** 53 } },
      'Field "typed_data.message.value" must be an integer',
    ],
    ['deep nesting', { ...data, message: { x: deep(40) } }, 'The body must not be nested deeper than 32.'],
    ['too many values', { ...data, message: { x: Array(10_001).fill(1) } }, 'The body must not hold more than 10000'],
    [
      'half a surrogate pair',
      { ...data, message: { ...message, contents: '\ud800' } },
      'Field "typed_data.message.contents"',
    ],
    ['a NUL', { ...data, message: { ...message, contents: '\0' } }, 'Field "typed_data.message.contents"'],
  ]

  test.each(cases)('%s', async (_, typedData, sentence) => {
    const answer = await sign(untouched, typedData, { user_pin: '000000' })
    expect(told(answer)).toEqual({ status: 400, code: 'invalid_input' })
    expect(answer.json.error).toStartWith(sentence)
    expect(await audited(untouched)).toEqual([])
    // It is refused before the PIN is tried.
    expect(await sql`select 1 from pin_guesses where owner_id = ${untouched.owner_id} and total > 0`).toHaveLength(0)
  })

  test('data of more than a megabyte', async () => {
    const wallet = await newWallet()
    const data = { ...mail({}), message: { ...mail({}).message, contents: 'x'.repeat(1024 * 1024) } }
    expect(told(await sign(wallet, data))).toEqual({ status: 413, code: 'body_too_large' })
  })

  test.each(['Polkadot', 'Vara'])('a wallet of %s, which has no typed data', async (network) => {
    const wallet = await newWallet({ network })
    const answer = await sign(wallet, mail({}))
    expect(told(answer)).toEqual({ status: 501, code: 'not_implemented' })
    expect(answer.json.error).toBe(`${network} has no typed data (EIP-712): only EVM networks have it.`)
  })
})

describe('the credential', () => {
  test('is that of the control mode, and a wrong PIN is charged', async () => {
    const wallet = await newWallet({ pin: PIN })
    const codes = []
    for (const credential of [{}, secret, both, { user_pin: '000000' }]) {
      codes.push((await sign(wallet, mail({}), credential)).json.code)
    }
    expect(codes).toEqual(['credential_required', 'credential_required', 'credential_ambiguous', 'INVALID_SECRET'])
    expect((await sign(wallet, mail({}), pin)).status).toBe(200)
    const made = await service.post('/wallets/recovery-code', { network: 'Polygon', address: wallet.address, ...pin })
    expect((await sign(wallet, mail({}), { user_secret: made.json.recovery_code })).status).toBe(200)
  })

  longTest('is both credentials for each wallet of a shared keyring, also for the transaction of a Safe', async () => {
    const ownerId = randomUUID()
    const theirs = await newWallet({ ownerId, pin: PIN })
    const shared = { network: 'Base', name: 'S', owner_id: ownerId, control_mode: 'developer', ...both }
    const ours: Wallet = (await service.post('/wallets', shared)).json
    const safeTx = { ...mail({}), types: typesOf({ SafeTx: 'address to' }), primaryType: 'SafeTx' }
    const signed = [theirs, ours].flatMap((wallet) => [
      { wallet, data: mail({}) },
      { wallet, data: { ...safeTx, message: { to: wallet.address } } },
    ])
    for (const { wallet, data } of someOf<(typeof signed)[number]>(signed, 3)) {
      for (const credential of [secret, pin]) {
        const answer = await sign(wallet, data, credential)
        expect(told(answer)).toEqual({ status: 400, code: 'credential_required' })
      }
      const signature = signatureOf(await sign(wallet, data, both))
      expect(await verified(wallet, data as never, signature)).toBe(true)
    }
  })

  test('opens nothing of a frozen wallet', async () => {
    const wallet = await newWallet()
    const frozen = { target: { scope: 'wallet', walletId: wallet.id }, reason: 'test', actor: 'operator' } as const
    await freeze(service.ctx, frozen)
    expect(told(await sign(wallet, mail({})))).toEqual({ status: 403, code: 'frozen' })
    await unfreeze(service.ctx, frozen)
  })
})
