// Typed data that people approve with their passkeys, over HTTP: what they read, and what is signed then.

import { expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { type Hex, isErc6492Signature, verifyTypedData } from 'viem'
import { deployCanonicalContracts } from '../../devnet/canonical-contracts.ts'
import { fundedAccount } from '../support/chains.ts'
import { commonWorld } from '../support/common-service.ts'
import { longTest } from '../support/long.ts'
import type { Answer } from '../support/service.ts'
import * as data from '../typed-data/data.ts'
import { newApprover } from './approver.ts'

const network = 'Ethereum'
const PIN = { user_pin: '493817' }
const SECRET = { developer_secret: 'testnet-secret' }
const SPENDER = fundedAccount(2).address
/** 2030-01-01T00:00:00Z. */
const LATER = '1893456000'
const UNTIL = '2030-01-01T00:00:00.000Z'

const { chain, service } = await commonWorld()
await deployCanonicalContracts(chain.rpcUrl)
const chainId = await chain.publicClient.getChainId()
const token = (await chain.deploy('SignedToken')).address
const anna = await newApprover(service)
const ben = await newApprover(service)

type Wallet = { readonly address: Hex; readonly id: string }

const at = (verifyingContract: string) => ({ chainId, verifyingContract })
const permitOf = ({ address: owner }: Wallet, value = '5000000000000000000') =>
  data.permit(at(token), { owner, spender: SPENDER, value, nonce: 0, deadline: LATER })

const rulesOn = (type: string) => [
  { argument: 'typedData.primaryType', operator: 'eq', value: type },
  { argument: 'typedData.verifyingContract', operator: 'eq', value: token },
]

const allow = async ({ address }: Wallet, rest: object = {}) => {
  const policy = { network, wallet_address: address, argument_rules: rulesOn('Permit'), max_total_fee: '1' }
  const require_approval = { of: 1, from: [anna.id, ben.id] }
  const answer = await service.post('/policies', { ...policy, require_approval, ...PIN, ...rest })
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.json
}

const newWallet = (): Promise<Wallet> => service.newWallet({ network, ownerId: randomUUID(), pin: PIN.user_pin })

const sign = ({ address }: Pick<Wallet, 'address'>, typed_data: object, rest: object = {}): Promise<Answer> =>
  service.post('/transactions/sign-typed-data', {
    ...{ network, signer_wallet_address: address, typed_data, ...SECRET, ...rest },
  })

const told = ({ status, json }: Answer) => [status, json?.code ?? json?.status ?? null]
const WAITING = [202, 'waiting']
const SIGNED = [200, null]
const ENDED = [409, 'approval_ended']
const MISMATCH = [409, 'approval_mismatch']

const shown = async (approval_id: string) => {
  const { json } = await service.get('/approvals')
  return json.find((each: { approval_id: string }) => each.approval_id === approval_id)
}

type Sentences = readonly (readonly { readonly text: string }[])[]
const textOf = (sentences: Sentences) => sentences.map((parts) => parts.map(({ text }) => text).join(''))

test('is shown in words, and signed once after enough people have approved it', async () => {
  const wallet = await newWallet()
  await allow(wallet, { require_approval: { of: 2, from: [anna.id, ben.id] } })
  const typed = permitOf(wallet)
  const asked = await sign(wallet, typed)
  expect(told(asked)).toEqual(WAITING)
  const { approval_id } = asked.json
  expect((await sign(wallet, typed)).json).toEqual(asked.json)
  const [waiting] = await anna.waiting()
  expect(waiting).toMatchObject({
    approval_id,
    action: 'sign-typed-data',
    wallet_address: wallet.address,
    unsigned_transactions: [],
    previews: null,
    typed_data: typed,
    typed_data_preview: { kind: 'permit' },
  })
  const { wants, calls, warnings } = waiting.words
  expect(textOf([wants])).toEqual([
    `Sign typed data, which contracts take in place of a transaction, of the wallet ${wallet.address} on Ethereum: Permit for the contract ${token}.`,
  ])
  expect(calls.map(textOf)).toEqual([
    [
      `Let ${SPENDER} take up to 5 SIG from this wallet; it can be submitted until ${UNTIL}.`,
      `In the domain, chainId is ${chainId}.`,
      `In the domain, verifyingContract is ${token}.`,
      'In the domain, version is 1.',
      `owner is ${wallet.address}.`,
      `spender is ${SPENDER}.`,
      'value is 5000000000000000000.',
      'nonce is 0.',
      `deadline is ${LATER}.`,
    ],
  ])
  expect(textOf(warnings)).toEqual([`The spender ${SPENDER} is an account: whoever has its key can take the tokens.`])
  await anna.decide(approval_id)
  expect(told(await sign(wallet, typed, { approval_id }))).toEqual(WAITING)
  await ben.decide(approval_id)
  const done = await sign(wallet, typed, { approval_id })
  expect(told(done)).toEqual(SIGNED)
  const signed = { address: wallet.address, signature: done.json.signature, ...typed }
  expect(await verifyTypedData(signed as never)).toBe(true)
  expect(told(await sign(wallet, typed, { approval_id }))).toEqual(ENDED)
  expect(await shown(approval_id)).toMatchObject({ status: 'used', typed_data: typed, typed_data_preview: null })
})

longTest('differs from the approved one, or is rejected: then nothing is signed', async () => {
  const wallet = await newWallet()
  await allow(wallet)
  const typed = permitOf(wallet)
  const { approval_id } = (await sign(wallet, typed)).json
  await anna.decide(approval_id)
  expect(told(await sign(wallet, permitOf(wallet, '5000000000000000001'), { approval_id }))).toEqual(MISMATCH)
  expect(told(await sign(await newWallet(), typed, { approval_id }))).toEqual([404, 'not_found'])
  // What no policy allows is no matter of approvers.
  expect(told(await sign(wallet, data.mail(at(token)), { approval_id }))).toEqual([403, 'policy_denied'])
  const transaction = { network, signer_wallet_address: wallet.address, unsigned_transaction: { to: token } }
  const sent = await service.post('/transactions/sign-and-send', { ...transaction, ...SECRET, approval_id })
  expect(told(sent)).toEqual([403, 'policy_denied'])
  await ben.decide(approval_id, 'reject')
  expect(told(await sign(wallet, typed, { approval_id }))).toEqual(ENDED)
  // The user's own credential needs no approval.
  expect(told(await sign(wallet, typed, { ...PIN, developer_secret: undefined }))).toEqual(SIGNED)
})

longTest('of a contract wallet is signed in its own form', async () => {
  const body = { network, name: 'Safe', type: 'contract', control_mode: 'user', owner_id: randomUUID(), ...PIN }
  const safe: Wallet = (await service.post('/wallets', body)).json
  await allow(safe, { argument_rules: rulesOn('Mail') })
  const typed = data.mail(at(token))
  const { approval_id } = (await sign(safe, typed)).json
  await anna.decide(approval_id)
  const { signature } = (await sign(safe, typed, { approval_id })).json
  expect(isErc6492Signature(signature)).toBe(true)
  const signed = { address: safe.address, signature, ...typed }
  expect(await chain.publicClient.verifyTypedData(signed as never)).toBe(true)
})

longTest('needs no approval if another policy without approvers allows it, and a preview says which', async () => {
  const wallet = await newWallet()
  const first = await allow(wallet)
  const typed_data = permitOf(wallet)
  const previewed = async () => {
    const body = { network, signer_wallet_address: wallet.address, typed_data }
    return (await service.post('/transactions/preview-typed-data', body)).json.policy
  }
  expect(await previewed()).toMatchObject({ allowed: true, needs_approval: true, uuid: first.uuid })
  const second = await allow(wallet, { require_approval: undefined })
  expect(await previewed()).toMatchObject({ allowed: true, needs_approval: false, uuid: second.uuid })
  expect(told(await sign(wallet, typed_data))).toEqual(SIGNED)
})

test('that nobody could read is refused', async () => {
  const wallet = await newWallet()
  await allow(wallet, { argument_rules: rulesOn('Note') })
  const note = (length: number) => ({
    domain: at(token),
    types: { Note: [{ name: 'text', type: 'string' }] },
    primaryType: 'Note',
    message: { text: 'x'.repeat(length) },
  })
  const answer = await sign(wallet, note(65_536))
  expect([answer.status, answer.json.error]).toEqual([
    400,
    'Field "typed_data" must have at most 65536 characters, because people must approve it.',
  ])
  expect(told(await sign(wallet, note(60_000)))).toEqual(WAITING)
})
