// Authorisations of EIP-7702 over HTTP, and their use on a real chain.

import { beforeAll, describe, expect, test } from 'bun:test'
import { getAddress, type Hex } from 'viem'
import { recoverAuthorizationAddress } from 'viem/utils'
import { fundedAccount, type TestChain } from '../support/chains.ts'
import { runCli } from '../support/cli.ts'
import { commonWorld } from '../support/common-service.ts'
import type { Answer, Service } from '../support/service.ts'

const SECRET = { developer_secret: 'testnet-secret' }
const PIN = '493817'
const PATH = '/transactions/sign-authorization'
const ZERO: Hex = `0x${'0'.repeat(40)}`
const network = 'Ethereum'

let chain: TestChain
let service: Service
let delegate: Hex

beforeAll(async () => {
  ;({ chain, service } = await commonWorld())
  delegate = (await chain.deploy('TestToken', ['Delegate', 'DLG', 18])).address
  await chain.mine()
  await allow(delegate)
})

const delegates = async (change: 'add' | 'remove', address: string) => {
  const args = ['project', 'delegates', change, service.project.projectId, network, address]
  expect(await runCli(args, service.variables)).toMatchObject({ exitCode: 0, errors: '' })
}
const allow = (address: string) => delegates('add', address)

type Authorization = { readonly contract_address: string; readonly chain_id?: unknown; readonly nonce?: unknown }

const post = (signer: string, authorization: Partial<Authorization> | string, rest: object = SECRET) =>
  service.post(PATH, { network, signer_wallet_address: signer, authorization, ...rest })

const signedBy = ({ status, json }: Answer) => {
  expect(status).toBe(200)
  expect(Object.keys(json).toSorted()).toEqual(['address', 'chain_id', 'nonce', 'r', 's', 'y_parity'])
  const { chain_id: chainId, y_parity: yParity, ...rest } = json
  return { ...rest, chainId, yParity } as {
    readonly address: Hex
    readonly chainId: number
    readonly nonce: number
    readonly r: Hex
    readonly s: Hex
    readonly yParity: number
  }
}

const refusal = ({ status, json }: Answer) => [status, json?.code]

const codeOf = async (address: Hex): Promise<string> => (await chain.publicClient.getCode({ address })) ?? '0x'
const designated = (address: string) => `0xef0100${address.slice(2).toLowerCase()}`

/** Another account sends it in a transaction of type 4. */
const use = async (authorization: ReturnType<typeof signedBy>) => {
  const account = fundedAccount(3)
  const hash = await chain.walletClient.sendTransaction({
    account,
    to: account.address,
    authorizationList: [authorization],
  })
  return chain.receiptOf(hash)
}

describe('an authorisation', () => {
  test('gives the account the code of the delegate when another account sends it, until it is ended', async () => {
    const { address, id } = await service.newWallet({ network })
    const authorization = signedBy(await post(address, { contract_address: delegate.toLowerCase() }))
    expect(authorization).toMatchObject({ address: getAddress(delegate), chainId: chain.chainId, nonce: 0 })
    expect(await recoverAuthorizationAddress({ authorization })).toBe(address)
    expect(await codeOf(address)).toBe('0x')
    expect(await use(authorization)).toMatchObject({ type: 'eip7702', status: 'success' })
    expect(await codeOf(address)).toBe(designated(delegate))
    // The account runs the code: it answers as the token.
    const { abi } = await chain.deploy('TestToken', ['Delegate', 'DLG', 18])
    const contract = { address, abi, functionName: 'decimals' } as const
    expect(await chain.publicClient.readContract(contract)).toBe(18)
    // The next nonce was used by the authorisation.
    const end = signedBy(await post(address, { contract_address: ZERO }))
    expect(end.nonce).toBe(1)
    await use(end)
    expect(await codeOf(address)).toBe('0x')
    const { sql } = service.database
    const rows = await sql<{ details: object }[]>`
        select details from audit where subject = ${id} and action = 'authorization_signed' order by id`
    expect(rows.map(({ details }: { details: object }) => details)).toMatchObject([
      { delegate: delegate.toLowerCase(), chain_id: String(chain.chainId), nonce: '0', network },
      { delegate: ZERO, nonce: '1' },
    ])
  })

  test('takes the nonce and the chain id in any notation, and asks no node then', async () => {
    const { address } = await service.newWallet({ network })
    for (const nonce of ['7', '0x7', '007']) {
      for (const chain_id of [String(chain.chainId), `0x${chain.chainId.toString(16)}`]) {
        expect(signedBy(await post(address, { contract_address: delegate, nonce, chain_id })).nonce).toBe(7)
      }
    }
    const last = Number.MAX_SAFE_INTEGER
    expect(signedBy(await post(address, { contract_address: delegate, nonce: String(last) })).nonce).toBe(last)
  })

  test('takes the nonce after the transactions that are recorded here', async () => {
    const { address } = await service.newWallet({ network })
    await chain.fund(address)
    const sent = await service.post('/transactions/sign-and-send', {
      ...{ network, signer_wallet_address: address, ...SECRET },
      unsigned_transaction: { to: delegate, input: `0x095ea7b3${'0'.repeat(24)}${'11'.repeat(20)}${'0'.repeat(64)}` },
    })
    expect(sent.json.status).toBe('submitted')
    expect(signedBy(await post(address, { contract_address: delegate })).nonce).toBe(1)
  })

  test('of a user-controlled wallet needs the PIN', async () => {
    const { address } = await service.newWallet({ network, pin: PIN, ownerId: crypto.randomUUID() })
    const authorization = { contract_address: delegate, nonce: '0' }
    expect(refusal(await post(address, authorization))).toEqual([400, 'credential_required'])
    expect(refusal(await post(address, authorization, { user_pin: '000000' }))).toEqual([403, 'INVALID_SECRET'])
    signedBy(await post(address, authorization, { user_pin: PIN }))
  })
})

describe('refused', () => {
  test('is a contract that the operator did not allow, or no longer', async () => {
    const { address } = await service.newWallet({ network })
    const other = (await chain.deploy('TestToken', ['Other', 'OTH', 18])).address
    const sign = () => post(address, { contract_address: other, nonce: '0' })
    expect(refusal(await sign())).toEqual([403, 'delegate_not_allowed'])
    await allow(other)
    signedBy(await sign())
    await delegates('remove', other)
    expect(refusal(await sign())).toEqual([403, 'delegate_not_allowed'])
  })

  test.each([
    ['authorization.chain_id', { contract_address: ZERO, chain_id: '0' }],
    ['authorization.chain_id', { contract_address: ZERO, chain_id: '1' }],
    ['authorization.chain_id', { contract_address: ZERO, chain_id: '-1' }],
    ['authorization.nonce', { contract_address: ZERO, nonce: String(2n ** 53n) }],
    ['authorization.nonce', { contract_address: ZERO, nonce: 'x' }],
    ['authorization.contract_address', {}],
    ['authorization', 'all'],
    ['unknown field', { contract_address: ZERO, 'no such': 1 }],
  ])('with its name is %s, malformed', async (field, authorization) => {
    const { address } = await service.newWallet({ network })
    const answer = await post(address, authorization)
    expect(refusal(answer)).toEqual([400, 'invalid_input'])
    expect(answer.json.error).toContain(field)
  })

  test('are a malformed delegate and a contract wallet', async () => {
    const { address } = await service.newWallet({ network })
    const malformed = await post(address, { contract_address: `0x${'Ab'.repeat(20)}` })
    expect(refusal(malformed)).toEqual([400, 'address_invalid'])
    expect(malformed.json.error).toContain('"authorization.contract_address"')
    const of = { name: 'Safe', type: 'contract', control_mode: 'developer', ...SECRET }
    const { json: safe } = await service.post('/wallets', { network, ...of })
    const contract = await post(safe.address, { contract_address: delegate })
    expect(refusal(contract)).toEqual([400, 'invalid_input'])
    expect(contract.json.error).toContain('"signer_wallet_address" must be a wallet of type "eoa"')
  })
})
