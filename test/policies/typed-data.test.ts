// Policies on typed data: what they allow, count and refuse, and how they are made and described.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Sql } from 'postgres'
import postgres from 'postgres'
import { type Hex, isErc6492Signature, verifyTypedData } from 'viem'
import { deployCanonicalContracts } from '../../devnet/canonical-contracts.ts'
import { checkRules } from '../../src/signing/policies/rules.ts'
import { fundedAccount, type TestChain } from '../support/chains.ts'
import { commonWorld } from '../support/common-service.ts'
import { longTest, someOf } from '../support/long.ts'
import type { Answer, Service } from '../support/service.ts'
import * as data from '../typed-data/data.ts'

const PIN = '493817'
const secret = { developer_secret: 'testnet-secret' }
const pin = { user_pin: PIN }
const network = 'Ethereum'
const SPENDER = fundedAccount(2).address
const OTHER = fundedAccount(3).address
const PERMIT2 = '0x000000000022D473030F116dDEE9F6B43aC78BA3'
const UINT256_MAX = (2n ** 256n - 1n).toString()
const PERMIT_TEXT = 'Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)'

let chain: TestChain
let service: Service
let sql: Sql
let chainId: number
let token: string

beforeAll(async () => {
  ;({ chain, service } = await commonWorld())
  await deployCanonicalContracts(chain.rpcUrl)
  sql = postgres(service.database.url, { max: 1, onnotice: () => {} })
  chainId = await chain.publicClient.getChainId()
  token = (await chain.deploy('SignedToken')).address
})
afterAll(async () => {
  await sql?.end()
})

type Wallet = { readonly address: Hex; readonly id: string; readonly owner_id: string }
const usersWallet = (): Promise<Wallet> => service.newWallet({ network, pin: PIN })

type Rule = { readonly argument: string; readonly operator: string; readonly value: string }
const rule = (argument: string, value: string, operator = 'eq'): Rule => ({ argument, operator, value })
const on = (type: string, contract: string, ...more: readonly Rule[]) => [
  rule('typedData.primaryType', type),
  rule('typedData.verifyingContract', contract),
  ...more,
]

const made = (wallet: Wallet, argument_rules: readonly Rule[], rest: object = {}): Promise<Answer> =>
  service.post('/policies', {
    network,
    wallet_address: wallet.address,
    argument_rules,
    max_total_fee: '1',
    ...pin,
    ...rest,
  })

const allow = async (wallet: Wallet, rules: readonly Rule[], rest: object = {}) => {
  const answer = await made(wallet, rules, rest)
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.json
}

const sign = (wallet: Pick<Wallet, 'address'>, typed_data: object, credential: object = secret): Promise<Answer> =>
  service.post('/transactions/sign-typed-data', {
    ...{ network, signer_wallet_address: wallet.address, typed_data, ...credential },
  })

const told = ({ status, json }: Answer) => ({ status, code: json?.code })
const SIGNED = { status: 200, code: undefined }
const DENIED = { status: 403, code: 'policy_denied' }

const at = (verifyingContract: string) => ({ chainId, verifyingContract })
const permit = (wallet: Wallet, value: string, more: object = {}) =>
  data.permit(at(token), { owner: wallet.address, spender: SPENDER, value, nonce: 0, deadline: UINT256_MAX, ...more })
const limit = (max_total: string, of = token) => ({ token_limits: [{ contract_address: of, max_total }] })

describe('a policy on typed data', () => {
  test('allows the type and the contract that it names, with the secret alone', async () => {
    const wallet = await usersWallet()
    const { uuid } = await allow(wallet, on('Permit', token))
    const typed = permit(wallet, '5')
    const answer = await sign(wallet, typed)
    expect(told(answer)).toEqual(SIGNED)
    const verified = { address: wallet.address, signature: answer.json.signature, ...typed }
    expect(await verifyTypedData(verified as never)).toBe(true)
    const [row] = await sql`select details from audit where subject = ${wallet.id} and action = 'message_signed'`
    expect(row?.details).toMatchObject({ primary_type: 'Permit', policy: uuid, policy_uses: '1' })
    const [shown] = (await service.get('/policies', { network, wallet_address: wallet.address })).json
    expect(shown).toMatchObject({ uses: 1, spent_value: '0', spent_fee: '0' })
  })

  const others: readonly (readonly [string, (wallet: Wallet) => object])[] = [
    [
      'another type',
      (wallet) => ({
        ...permit(wallet, '5'),
        types: data.typesOf({ Permitted: 'address to' }),
        primaryType: 'Permitted',
        message: { to: OTHER },
      }),
    ],
    ['another contract', (wallet) => ({ ...permit(wallet, '5'), domain: at(OTHER) })],
    ['no contract', (wallet) => ({ ...permit(wallet, '5'), domain: { chainId } })],
    ['another spender', (wallet) => permit(wallet, '5', { spender: OTHER })],
    ['a larger amount', (wallet) => permit(wallet, '11')],
  ]
  test.each(someOf(others, 4))('does not allow %s', async (_, typed) => {
    const wallet = await usersWallet()
    const rules = [
      rule('typedData.message.spender', SPENDER.toLowerCase()),
      rule('typedData.message.value', '10', 'le'),
    ]
    await allow(wallet, on('Permit', token, ...rules))
    expect(told(await sign(wallet, permit(wallet, '10')))).toEqual(SIGNED)
    expect(told(await sign(wallet, typed(wallet)))).toEqual(DENIED)
    expect(told(await sign(wallet, typed(wallet), pin))).toEqual(SIGNED)
  })

  longTest('by the whole text of a type allows no other struct of that name', async () => {
    const wallet = await usersWallet()
    await allow(wallet, on(PERMIT_TEXT, token))
    expect(told(await sign(wallet, permit(wallet, '5')))).toEqual(SIGNED)
    const dai = { holder: wallet.address, spender: SPENDER, nonce: 0, expiry: 0, allowed: true }
    expect(told(await sign(wallet, data.daiPermit(at(token), dai)))).toEqual(DENIED)
  })

  test.each(someOf(['App:Send', 'App:Send(string to whom,uint256 amount)'], 2))(
    'names a type and members beyond identifiers: %s',
    async (type) => {
      const wallet = await usersWallet()
      await allow(wallet, on(type, token, rule('typedData.message.to whom', 'Bob')))
      const sending = (whom: string) => ({
        domain: at(token),
        types: {
          'App:Send': [
            { name: 'to whom', type: 'string' },
            { name: 'amount', type: 'uint256' },
          ],
        },
        primaryType: 'App:Send',
        message: { 'to whom': whom, amount: '5' },
      })
      expect(told(await sign(wallet, sending('Bob')))).toEqual(SIGNED)
      expect(told(await sign(wallet, sending('Eve')))).toEqual(DENIED)
    },
  )

  longTest('judges values in structs and lists, and their number', async () => {
    const wallet = await usersWallet()
    const rules = [
      rule('typedData.message.permitted.length', '1'),
      rule('typedData.message.permitted.0.token', token),
      rule('typedData.message.permitted.0.amount', '0x64', 'lt'),
    ]
    await allow(wallet, on('PermitBatchTransferFrom', PERMIT2, ...rules))
    const batch = (...permitted: readonly object[]) =>
      data.permitBatchTransferFrom(at(PERMIT2), { permitted, spender: SPENDER, nonce: 0, deadline: 1 })
    expect(told(await sign(wallet, batch({ token, amount: '99' })))).toEqual(SIGNED)
    expect(told(await sign(wallet, batch({ token, amount: 100 })))).toEqual(DENIED)
    expect(told(await sign(wallet, batch({ token: OTHER, amount: 1 })))).toEqual(DENIED)
    expect(told(await sign(wallet, batch()))).toEqual(DENIED)
    expect(told(await sign(wallet, batch({ token, amount: 1 }, { token: OTHER, amount: 1 })))).toEqual(DENIED)
  })

  test('needs the chain id in the domain', async () => {
    const wallet = await usersWallet()
    await allow(wallet, on('Permit', token))
    const anywhere = { ...permit(wallet, '5'), domain: { verifyingContract: token } }
    const answer = await sign(wallet, anywhere)
    expect(told(answer)).toEqual(DENIED)
    expect(answer.json.error).toStartWith('Under a policy, field "typed_data.domain.chainId" is required')
    expect(told(await sign(wallet, anywhere, pin))).toEqual(SIGNED)
  })

  test('signs no transaction, and one on transactions signs no typed data', async () => {
    const wallet = await usersWallet()
    await allow(wallet, on('Permit', token))
    await allow(wallet, [rule('value', '0', 'eq')], { max_total_fee: String(10n ** 18n) })
    const send = (value: string) =>
      service.post('/transactions/sign', {
        ...{ network, signer_wallet_address: wallet.address, unsigned_transaction: { to: OTHER, value }, ...secret },
      })
    expect(told(await send('1'))).toEqual(DENIED)
    expect(told(await sign(wallet, data.mail(at(token))))).toEqual(DENIED)
  })

  longTest('ends with its uses and its revocation', async () => {
    const wallet = await usersWallet()
    const { uuid } = await allow(wallet, on('Permit', token), { max_uses: 2 })
    expect(told(await sign(wallet, permit(wallet, '1')))).toEqual(SIGNED)
    expect(told(await sign(wallet, permit(wallet, '1')))).toEqual(SIGNED)
    expect(told(await sign(wallet, permit(wallet, '1')))).toEqual(DENIED)
    await allow(wallet, on('Permit', token))
    expect(told(await sign(wallet, permit(wallet, '1')))).toEqual(SIGNED)
    expect(told(await service.post('/policies/revoke', { uuid, ...pin }))).toEqual(SIGNED)
  })
})

describe('a limit on a token', () => {
  const spent = async (wallet: Wallet) => {
    const [shown] = (await service.get('/policies', { network, wallet_address: wallet.address })).json
    return shown.token_limits[0].spent
  }

  test('counts permits, as approvals', async () => {
    const wallet = await usersWallet()
    await allow(wallet, on('Permit', token), limit('10'))
    expect(told(await sign(wallet, permit(wallet, UINT256_MAX)))).toEqual(DENIED)
    expect(told(await sign(wallet, permit(wallet, '11')))).toEqual(DENIED)
    expect(told(await sign(wallet, permit(wallet, '7')))).toEqual(SIGNED)
    expect(told(await sign(wallet, permit(wallet, '4')))).toEqual(DENIED)
    expect(told(await sign(wallet, permit(wallet, '3')))).toEqual(SIGNED)
    expect(told(await sign(wallet, permit(wallet, '0')))).toEqual(SIGNED)
    expect(await spent(wallet)).toBe('10')
  })

  const elsewhere: readonly (readonly [string, string, (wallet: Wallet) => object])[] = [
    [
      'a permit of Permit2',
      'PermitSingle',
      () =>
        data.permitSingle(at(PERMIT2), {
          details: { token, amount: '6', expiration: 1, nonce: 0 },
          ...{ spender: SPENDER, sigDeadline: 1 },
        }),
    ],
    [
      'several transfers by Permit2',
      'PermitBatchTransferFrom',
      () =>
        data.permitBatchTransferFrom(at(PERMIT2), {
          permitted: [
            { token, amount: 2 },
            { token: OTHER, amount: 50 },
            { token: token.toLowerCase(), amount: 4 },
          ],
          ...{ spender: SPENDER, nonce: 0, deadline: 1 },
        }),
    ],
    [
      'a transfer with a witness',
      'PermitWitnessTransferFrom',
      () =>
        data.permitWitnessTransferFrom(at(PERMIT2), {
          ...{ permitted: { token, amount: 6 }, spender: SPENDER, nonce: 0, deadline: 1 },
          witness: { reactor: OTHER },
        }),
    ],
    [
      'an order',
      'OrderComponents',
      (wallet) => {
        const item = { itemType: 1, token, identifierOrCriteria: 0, startAmount: 1, endAmount: 6 }
        return data.seaportOrder(at(OTHER), { offerer: wallet.address, offer: [item], consideration: [], endTime: 1 })
      },
    ],
    [
      'the sum of several orders under one signature',
      'BulkOrder',
      (wallet) => {
        const item = { itemType: 1, token, identifierOrCriteria: 0, startAmount: 1, endAmount: 2 }
        const order = { offerer: wallet.address, offer: [item], consideration: [], endTime: 1 }
        return data.seaportBulkOrder(at(OTHER), [order, order, order], 2)
      },
    ],
  ]
  test.each(someOf(elsewhere, 3))('counts %s, at another contract', async (_, type, typed) => {
    const wallet = await usersWallet()
    await allow(wallet, on(type, type.includes('Order') ? OTHER : PERMIT2), limit('10'))
    expect(told(await sign(wallet, typed(wallet)))).toEqual(SIGNED)
    expect(await spent(wallet)).toBe('6')
    expect(told(await sign(wallet, typed(wallet)))).toEqual(DENIED)
  })

  longTest(
    'counts transfers with authorization, and refuses what the token may take and cannot be counted',
    async () => {
      const wallet = await usersWallet()
      await allow(wallet, on('TransferWithAuthorization', token), limit('10'))
      await allow(wallet, on('Mail', token), limit('10'))
      await allow(wallet, on('SafeTx', token), limit('10'))
      await allow(wallet, on('Permit', token), limit('10'))
      const message = { from: wallet.address, to: OTHER, validAfter: 0, validBefore: 1, nonce: `0x${'00'.repeat(32)}` }
      const transfer = (value: number) =>
        data.transferAuthorization('TransferWithAuthorization', at(token), { ...message, value })
      expect(told(await sign(wallet, transfer(11)))).toEqual(DENIED)
      expect(told(await sign(wallet, transfer(10)))).toEqual(SIGNED)
      expect(told(await sign(wallet, data.mail(at(token))))).toEqual(DENIED)
      expect(told(await sign(wallet, data.safeTransaction(at(token), { to: OTHER })))).toEqual(DENIED)
      const dai = (allowed: boolean) =>
        data.daiPermit(at(token), { holder: wallet.address, spender: SPENDER, nonce: 0, expiry: 0, allowed })
      expect(told(await sign(wallet, dai(true)))).toEqual(DENIED)
      expect(told(await sign(wallet, dai(false)))).toEqual(SIGNED)
    },
  )
})

describe('a wallet', () => {
  longTest('of type contract signs by a policy, but nothing for its own contract', async () => {
    const body = { network, name: 'Safe', type: 'contract', control_mode: 'user', ...pin }
    const safe: Wallet = (await service.post('/wallets', body)).json
    await allow(safe, on('Mail', token))
    await allow(safe, on('SafeTx', safe.address))
    const answer = await sign(safe, data.mail(at(token)))
    expect(told(answer)).toEqual(SIGNED)
    expect(isErc6492Signature(answer.json.signature)).toBe(true)
    const signed = { address: safe.address, signature: answer.json.signature, ...data.mail(at(token)) }
    expect(await chain.publicClient.verifyTypedData(signed as never)).toBe(true)
    const own = await sign(safe, data.safeTransaction(at(safe.address), { to: OTHER }))
    expect(told(own)).toEqual(DENIED)
    expect(own.json.error).toBe('No policy lets the developer sign typed data of the contract wallet of this key.')
  })

  test('under policies signs only what one of them names', async () => {
    const wallet: Wallet = await service.newWallet({ network })
    const rules = on('Permit', token)
    const policy = { network, wallet_address: wallet.address, argument_rules: rules, max_total_fee: '1', ...secret }
    expect((await service.post('/policies', policy)).status).toBe(200)
    expect(told(await sign(wallet, data.mail(at(token))))).toEqual(SIGNED)
    await service.post('/wallets/put-under-policies', { network, address: wallet.address, ...secret })
    expect(told(await sign(wallet, permit(wallet, '5')))).toEqual(SIGNED)
    expect(told(await sign(wallet, data.mail(at(token))))).toEqual(DENIED)
  })

  test('without a policy is refused as before', async () => {
    const wallet = await usersWallet()
    expect(told(await sign(wallet, permit(wallet, '5')))).toEqual({ status: 400, code: 'credential_required' })
  })
})

describe('a preview', () => {
  const previewed = async (wallet: Pick<Wallet, 'address'>, typed_data: object) => {
    const body = { network, signer_wallet_address: wallet.address, typed_data }
    const answer = await service.post('/transactions/preview-typed-data', body)
    if (answer.status !== 200) throw new Error(answer.text)
    return answer.json.policy
  }
  const refused = (...refusals: readonly object[]) => ({
    ...{ allowed: false, uuid: null, needs_approval: false, never: null, refusals },
  })

  longTest('names the policy that would be charged, or what each lacks', async () => {
    const wallet = await usersWallet()
    expect(await previewed(wallet, permit(wallet, '5'))).toEqual(refused())
    const ended = await allow(wallet, on('Permit', token), { max_uses: 1 })
    expect(told(await sign(wallet, permit(wallet, '5')))).toEqual(SIGNED)
    const spender = rule('typedData.message.spender', OTHER.toLowerCase())
    const other = await allow(wallet, on('Permit', token, spender))
    const payments = await allow(wallet, [rule('to', OTHER)])
    const small = await allow(wallet, on('Permit', token), limit('10'))
    const rolling = await allow(wallet, on('Mail', token), { rolling_limits: [{ per_seconds: 3600, max_uses: 1 }] })
    const of = ({ uuid }: { uuid: string }, reason: string, index: number | null = null) => ({
      uuid,
      reason,
      rule: index,
    })
    const lacks = [
      of(ended, 'used_up'),
      of(other, 'rule_not_matched', 2),
      of(payments, 'type_not_named'),
      of(small, 'token_exceeded'),
      of(rolling, 'rule_not_matched', 0),
    ]
    expect(await previewed(wallet, permit(wallet, '11'))).toEqual(refused(...lacks))
    const allowed = { ...refused(), allowed: true }
    expect(await previewed(wallet, permit(wallet, '10'))).toEqual({ ...allowed, uuid: small.uuid })
    expect(told(await sign(wallet, permit(wallet, '10')))).toEqual(SIGNED)
    expect((await previewed(wallet, permit(wallet, '10'))).refusals[3]).toEqual(of(small, 'token_exceeded'))
    const mail = data.mail(at(token))
    expect(await previewed(wallet, mail)).toEqual({ ...allowed, uuid: rolling.uuid })
    expect(told(await sign(wallet, mail))).toEqual(SIGNED)
    expect((await previewed(wallet, mail)).refusals[4]).toEqual(of(rolling, 'rolling_exceeded'))
    const daiPermit = { holder: wallet.address, spender: SPENDER, nonce: 0, expiry: 0, allowed: true }
    await allow(wallet, on('Mail', token), limit('10'))
    expect((await previewed(wallet, mail)).refusals[5]).toMatchObject({ reason: 'token_unknown' })
    expect((await previewed(wallet, data.daiPermit(at(token), daiPermit))).refusals[3]).toEqual(
      of(small, 'token_exceeded'),
    )
    const { domain: _, ...rest } = mail
    const never = await previewed(wallet, { ...rest, domain: { verifyingContract: token } })
    expect(never).toEqual({ ...refused(), never: expect.stringContaining('typed_data.domain.chainId') })
  })

  test('shows no policy of an address that is no wallet, or that needs none', async () => {
    const developers: Wallet = await service.newWallet({ network })
    for (const wallet of [developers, { address: OTHER }] as const) {
      expect(await previewed(wallet, data.mail(at(token)))).toBeUndefined()
    }
  })
})

describe('is refused when it is made:', () => {
  const value = rule('typedData.message.value', '5')
  const cases: readonly (readonly [string, () => readonly Rule[], object, string])[] = [
    [
      'no contract',
      () => [rule('typedData.primaryType', 'Permit')],
      {},
      'Field "argument_rules" must have a rule typedData.verifyingContract eq',
    ],
    [
      'no type',
      () => [value, rule('typedData.verifyingContract', token)],
      {},
      'Field "argument_rules" must have a rule typedData.primaryType eq',
    ],
    [
      'another type than one',
      () => on('Permit', token, rule('typedData.primaryType', 'Mail')),
      {},
      'Field "argument_rules.2.argument" is a second rule',
    ],
    [
      'anything but a type',
      () => [rule('typedData.primaryType', 'Permit', 'ne'), rule('typedData.verifyingContract', token)],
      {},
      'Field "argument_rules.0.operator" must be eq',
    ],
    ['a contract that is none', () => on('Permit', 'USDC'), {}, 'Field "argument_rules.1.value" must be an address'],
    [
      'rules on transactions as well',
      () => on('Permit', token, rule('to', token)),
      {},
      'Field "argument_rules.2.argument" is on transactions',
    ],
    [
      'an order of texts',
      () => on('Permit', token, rule('typedData.message.spender', 'x', 'lt')),
      {},
      'Field "argument_rules.2.value" must be an integer',
    ],
    [
      'a type that is no type',
      () => on('Permit(uint7 value)', token),
      {},
      'Field "argument_rules.0.value" must be the name of a type',
    ],
    [
      'a type in another order',
      () => on('A(C c,B b)C(bool c)B(bool b)', token),
      {},
      'Field "argument_rules.0.value" must be the name of a type',
    ],
    [
      'a member that the type lacks',
      () => on(PERMIT_TEXT, token, rule('typedData.message.amount', '5')),
      {},
      'Field "argument_rules.2.argument" must be a value of the type Permit.',
    ],
    [
      'a value of another kind',
      () => on(PERMIT_TEXT, token, rule('typedData.message.spender', '5')),
      {},
      'Field "argument_rules.2.value" must be a value of the type',
    ],
    [
      'an order of addresses',
      () => on(PERMIT_TEXT, token, rule('typedData.message.spender', '5', 'lt')),
      {},
      'Field "argument_rules.2.operator" must be eq or ne',
    ],
    [
      'an unknown argument',
      () => on('Permit', token, rule('typedData.domain', 'x')),
      {},
      'Field "argument_rules.2.argument" must be',
    ],
  ]
  let wallet: Wallet
  beforeAll(async () => {
    wallet = await usersWallet()
  })
  test.each(someOf(cases, 2))('%s', async (_, rules, rest, sentence) => {
    const answer = await made(wallet, rules(), rest)
    expect([answer.status, answer.json.error]).toEqual([400, expect.stringContaining(sentence)])
    const { user_pin: _pin, ...described } = {
      network,
      wallet_address: wallet.address,
      argument_rules: rules(),
      ...rest,
      user_pin: '',
    }
    expect((await service.post('/policies/describe', described)).json.error).toBe(answer.json.error)
  })

  test('on a network without typed data', () => {
    const chainOf = (of: string) => service.ctx.chains.of(of)
    const rules = on('Permit', token) as never
    expect(() => checkRules(chainOf('Polkadot'), rules)).toThrow('must have no rules on typed data on Polkadot')
    checkRules(chainOf(network), rules)
  })
})

test('is described in words, with what it can cost', async () => {
  const wallet = await usersWallet()
  const text = (sentences: readonly (readonly { text: string }[])[]) =>
    sentences.map((parts) => parts.map((part) => part.text).join(''))
  const describe = async (rules: readonly Rule[], rest: object = {}) => {
    const body = { network, wallet_address: wallet.address, argument_rules: rules, max_uses: 3, ...rest }
    const { words } = (await service.post('/policies/describe', body)).json
    return {
      may: text(words.may),
      limits: text(words.limits),
      cost: text([words.cost]),
      warnings: text(words.warnings),
    }
  }
  const named = `the contract ${token}, which calls itself “Signed Token” (SIG)`
  const rules = on(
    'Permit',
    token,
    rule('typedData.message.spender', SPENDER),
    rule('typedData.message.value', '5', 'le'),
  )
  expect(await describe(rules, limit('7000000000000000000'))).toEqual({
    may: [
      'Sign typed data for a contract. It may not send transactions.',
      'Only typed data of the type Permit.',
      `Only for ${named}.`,
      `Only if spender is the account ${SPENDER}.`,
      'Only if value is at most 5.',
    ],
    limits: expect.arrayContaining(['At most 3 times.', 'Without an end, until you take it back.']),
    cost: [
      'It sends no ETH and pays no fees. What others take by the signatures is not counted, except for the tokens that are limited.',
    ],
    warnings: [
      'It has no end.',
      `It can let the account ${SPENDER} take tokens or NFTs from this wallet, up to the limit above.`,
      'What was signed can be used also after this has ended.',
    ],
  })
  const other = await describe(on('Mail', token), { expires_at: '2099-01-31T12:00:00Z' })
  expect(other.warnings).toEqual(['What was signed can be used also after this has ended.'])
})
