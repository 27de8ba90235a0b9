// Tokens that the developer moves by a policy of the wallet's owner.

import { expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { type Address, parseEther } from 'viem'
import { newApprover } from '../approvals/approver.ts'
import { fundedAccount } from '../support/chains.ts'
import { longTest } from '../support/long.ts'
import type { Answer } from '../support/service.ts'
import { shared } from '../support/shared.ts'
import { network, SECRET, startTokenWorld } from './world.ts'

const PIN = { user_pin: '493817' }
const RECIPIENT = fundedAccount(5).address

const world = await shared(startTokenWorld())
const wallet = (await world.service.newWallet({ network, pin: PIN.user_pin })).address
await world.chain.fund(wallet, parseEther('10'))
const body = { network, from: wallet, name: 'Points', symbol: 'PNT', decimals: '6', initial_supply: '100', ...PIN }
const token = (await world.succeeded(await world.service.post('/tokens', body))).contract_address

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
  expect((await world.transfer({ ...one, amount: '1.5' })).status).toBe(200)
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

longTest(
  'a transfer that people must approve waits for them, and is mined once',
  async () => {
    const people = [await newApprover(world.service), await newApprover(world.service)]
    // A wallet of its own: another policy would allow the transfer without approval.
    const its: Address = (await world.service.newWallet({ network, ownerId: randomUUID(), pin: PIN.user_pin })).address
    await world.chain.fund(its, parseEther('10'))
    await world.succeeded(
      await world.transfer({ from: wallet, token, recipient: its, amount: '5', ...PIN, developer_secret: undefined }),
    )
    const require_approval = { of: 2, from: people.map(({ id }) => id) }
    const rules = [
      ['to', token],
      ['decodedInput.function', 'transfer'],
    ] as const
    await agree(rules, { wallet_address: its, require_approval })
    const recipient = (await world.service.newWallet({ network, ownerId: randomUUID() })).address
    const body = { network, from: its, token, recipient, amount: '1.5', ...SECRET }
    const transfer = (rest: object = {}, headers: Record<string, string> = {}) =>
      world.service.post('/tokens/transfer', { ...body, ...rest }, headers)
    const asked = await transfer()
    expect([asked.status, asked.json.status]).toEqual([202, 'waiting'])
    const { approval_id } = asked.json
    for (const person of people) {
      const waiting = await transfer({ approval_id })
      expect([waiting.status, waiting.json]).toEqual([202, asked.json])
      const [shown] = await person.waiting()
      expect(shown).toMatchObject({ approval_id, action: 'token_transfer' })
      expect(shown.previews[0].simulation.asset_changes).toMatchObject([{ from: its, to: recipient, amount: '1.5' }])
      expect((await person.decide(approval_id)).status).toBe(200)
    }
    expect(codeOf(await transfer({ approval_id, amount: '1.6' }))).toBe('approval_mismatch')
    const headers = { 'idempotency-key': randomUUID() }
    const sent = await transfer({ approval_id }, headers)
    const { transaction_hash } = await world.succeeded(sent)
    expect((await transfer({ approval_id }, headers)).json).toEqual(sent.json)
    expect(codeOf(await transfer({ approval_id }))).toBe('approval_ended')
    expect(await world.activityOf(its, { transaction_hash })).toEqual([['send_token', '1.5', 'PNT']])
    expect([await world.held(its, token), await world.held(recipient, token)]).toEqual(['3.5', '1.5'])
  },
  60_000,
)
