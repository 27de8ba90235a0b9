// Tokens that the developer moves by a policy of the wallet's owner.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Address, parseEther } from 'viem'
import { fundedAccount } from '../support/chains.ts'
import type { Answer } from '../support/service.ts'
import { network, SECRET, startTokenWorld, type TokenWorld } from './world.ts'

const PIN = { user_pin: '493817' }
const RECIPIENT = fundedAccount(5).address

let world: TokenWorld
let wallet: Address
let token: Address

beforeAll(async () => {
  world = await startTokenWorld()
  wallet = (await world.service.newWallet({ network, pin: PIN.user_pin })).address
  await world.chain.fund(wallet, parseEther('10'))
  const body = { network, from: wallet, name: 'Points', symbol: 'PNT', decimals: '6', initial_supply: '100', ...PIN }
  token = (await world.succeeded(await world.service.post('/tokens', body))).contract_address
})
afterAll(() => world.stop())

const agree = async (rules: readonly (readonly [string, string])[], rest: object = {}) => {
  const argument_rules = rules.map(([argument, value]) => ({ argument, operator: 'eq', value }))
  const body = { network, wallet_address: wallet, argument_rules, ...rest, ...SECRET, ...PIN }
  const answer = await world.service.post('/policies', body)
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.json.uuid as string
}

const codeOf = ({ json }: Answer): string => json.code ?? json.status
const two = [
  { recipient: RECIPIENT, amount: '1' },
  { recipient: RECIPIENT, amount: '2' },
]

test('a policy on transfers of a token allows them up to its limit, and nothing else', async () => {
  const one = { from: wallet, token, recipient: RECIPIENT, amount: '2' }
  const limits = { token_limits: [{ contract_address: token, max_total: '3500000' }] }
  await agree(
    [
      ['to', token],
      ['decodedInput.function', 'transfer'],
    ],
    limits,
  )
  await world.succeeded(await world.transfer(one))
  expect(codeOf(await world.transfer(one))).toBe('policy_denied')
  await world.succeeded(await world.transfer({ ...one, amount: '1.5' }))
  expect(codeOf(await world.mint({ from: wallet, contract_address: token, amount: '1' }))).toBe('policy_denied')
  expect(codeOf(await world.transfer({ ...one, token: 'ETH' }))).toBe('policy_denied')
  expect(codeOf(await world.batch({ from: wallet, token, transfers: two }))).toBe('policy_denied')
}, 60_000)

test('a batch of a key needs a rule on its function, and a limit on the token refuses it', async () => {
  const batch = () => world.batch({ from: wallet, token, transfers: two })
  const rules = [
    ['to', token],
    ['decodedInput.function', 'batchTransfer'],
  ] as const
  // The vault counts only functions of which it can read the amount.
  await agree(rules, { token_limits: [{ contract_address: token, max_total: '999999999' }] })
  expect(codeOf(await batch())).toBe('policy_denied')
  await agree(rules)
  await world.succeeded(await batch())
}, 60_000)

test('no policy allows a batch of coins by a key, as it is a contract creation', async () => {
  await agree([['to', RECIPIENT]])
  const { json } = await world.batch({ from: wallet, token: 'ETH', transfers: two })
  expect([json.code, json.error]).toEqual(['policy_denied', 'No policy lets the developer create a contract.'])
  await world.succeeded(await world.transfer({ from: wallet, token: 'ETH', recipient: RECIPIENT, amount: '0.1' }))
}, 60_000)
