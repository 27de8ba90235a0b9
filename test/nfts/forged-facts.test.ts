// What somebody with the worker's login can do with the facts of contracts: the standard of a collection chooses the
// call that moves a token, and the decimals of a token the amount that a person reads before they agree to a policy.

import { expect, test } from 'bun:test'
import postgres from 'postgres'
import { decodeFunctionData, type Hex, parseAbi, toFunctionSelector } from 'viem'
import { fundedAccount } from '../support/chains.ts'
import { commonWorld } from '../support/common-service.ts'
import { byTcp } from '../support/postgres.ts'
import { afterTests } from '../support/shared.ts'

const network = 'Ethereum'
const secret = { developer_secret: 'testnet-secret' }
const SAFE_TRANSFER = toFunctionSelector('safeTransferFrom(address,address,uint256)')
const [RECIPIENT, OWNER] = [fundedAccount(5).address, fundedAccount(0).address]

const { chain, service } = await commonWorld()
/** The worker's. */
const login = postgres(byTcp(service.database.workerUrl).href, { max: 1, onnotice: () => {} })
afterTests(() => login.end())
const { sql } = service.database

type Facts = { readonly standard: string; readonly name: string; readonly symbol: string; readonly decimals: number }

/** Writes facts of a contract as the worker may, and more than it would. */
const forge = async (address: string, { standard, name, symbol, decimals }: Facts): Promise<void> => {
  await login`
    insert into contract_facts (network, address, standard, name, symbol, decimals)
    values (${network}, ${address}, ${standard}, ${name}, ${symbol}, ${decimals})
    on conflict (network, address) do update
      set standard = excluded.standard, name = excluded.name, symbol = excluded.symbol, decimals = excluded.decimals`
}

const storedOf = async (address: string): Promise<unknown> => {
  const [row] = await sql`
    select standard, name, symbol, decimals, mac is not null as own from contract_facts where address = ${address}`
  return { ...row }
}

test('the standard of a collection that a worker writes does not choose a call', async () => {
  const { address: from } = await service.newWallet({ network })
  await chain.fund(from, 10n ** 18n)
  const nfts = await chain.deploy('WizardCollection', ['Doors', 'DOOR', OWNER])
  for (const _ of [0, 1]) await chain.write({ contract: nfts, functionName: 'safeMint', args: [from, ''] })
  const moved = async (token_id: string): Promise<string | undefined> => {
    const body = { network, from, recipient: RECIPIENT, contract_address: nfts.address, token_id, ...secret }
    const { status, json, text } = await service.post('/nfts/transfer', body)
    if (status !== 200) throw new Error(text)
    const [row] = await sql<{ input: Hex }[]>`select input from transactions where id = ${json.transaction_id}`
    return row?.input.slice(0, 10)
  }
  const forged = { standard: 'erc1155', name: 'Doors', symbol: 'DOOR', decimals: 0 }
  const read = { ...forged, standard: 'erc721', decimals: null, own: true }
  // Before an API knows the collection, and after.
  for (const token of ['0', '1']) {
    await forge(nfts.address, forged)
    expect(await moved(token)).toBe(SAFE_TRANSFER)
    expect(await storedOf(nfts.address)).toEqual(read)
  }
})

test('the decimals of a token that a worker writes do not decide how much moves', async () => {
  const { address: from } = await service.newWallet({ network })
  await chain.fund(from, 10n ** 18n)
  const token = await chain.deploy('TestToken', ['Test', 'TST', 6])
  await chain.write({ contract: token, functionName: 'mint', args: [from, 10n ** 18n] })
  await forge(token.address, { standard: 'erc20', name: 'Test', symbol: 'TST', decimals: 12 })
  const body = { network, from, token: token.address, recipient: RECIPIENT, amount: '1.5', ...secret }
  const { json, text } = await service.post('/tokens/transfer', body)
  expect([json.status, text]).toEqual(['submitted', text])
  const [row] = await sql<{ input: Hex }[]>`select input from transactions where id = ${json.transaction_id}`
  const abi = parseAbi(['function transfer(address to, uint256 value)'])
  expect(decodeFunctionData({ abi, data: row?.input ?? '0x' }).args).toEqual([RECIPIENT, 1_500_000n])
})

test('the decimals and the name of a token that a worker writes are not used in texts that somebody agrees to', async () => {
  const { address: wallet_address } = await service.newWallet({ network, pin: '493817' })
  const { address } = await chain.deploy('TestToken', ['Test', 'TST', 6])
  await forge(address, { standard: 'erc20', name: 'Trusted', symbol: 'USD', decimals: 18 })
  const { status, json, text } = await service.post('/policies/describe', {
    ...{ network, wallet_address, max_total_fee: '1000' },
    argument_rules: [{ argument: 'to', operator: 'eq', value: address }],
    token_limits: [{ contract_address: address, max_total: '5000000' }],
  })
  expect([status, status === 200 || text]).toEqual([200, true])
  const limits: readonly (readonly { readonly text: string }[])[] = json.words.limits
  expect(limits.map((parts) => parts.map((part) => part.text).join(''))).toContainEqual(
    expect.stringMatching(/“Test” \(TST\), it sends or approves at most 5 TST in all/),
  )
  expect(text).not.toMatch(/Trusted|USD/)
  expect(await storedOf(address)).toMatchObject({ name: 'Test', decimals: 6, own: true })
})

test('a standard that a worker writes does not decide which function a rule means', async () => {
  const { address: wallet_address } = await service.newWallet({ network, pin: '493817' })
  const { address } = await chain.deploy('WizardCollection', ['Doors', 'DOOR', OWNER])
  const rule = (argument: string, value: string) => ({ argument, operator: 'eq', value })
  const described = () =>
    service.post('/policies/describe', {
      ...{ network, wallet_address, max_total_fee: '1000' },
      argument_rules: [rule('to', address), rule('decodedInput.function', 'safeTransferFrom')],
    })
  // EIP-721 has two functions of this name, and EIP-1155 one.
  const ambiguous = {
    code: 'invalid_input',
    error: expect.stringContaining('safeTransferFrom(address,address,uint256)'),
  }
  await forge(address, { standard: 'erc1155', name: 'Doors', symbol: 'DOOR', decimals: 0 })
  expect((await described()).json).toMatchObject(ambiguous)
})

test('facts that an API has read are used again, and those of a worker are only shown', async () => {
  const { address } = await chain.deploy('TestToken', ['Test', 'TST', 6])
  const shown = async () => (await service.ctx.chains.withNode(network).facts([address])).get(address)?.name
  const sure = async () => (await service.ctx.chains.withNode(network).sureFacts([address])).get(address)?.name
  await forge(address, { standard: 'erc20', name: 'As the worker read it', symbol: '', decimals: 0 })
  expect([await shown(), await sure(), await shown()]).toEqual(['As the worker read it', 'Test', 'Test'])
  const [was] = await sql`select read_at from contract_facts where address = ${address}`
  expect([await sure(), await shown()]).toEqual(['Test', 'Test'])
  // So it was not read again.
  expect(await sql`select read_at from contract_facts where address = ${address}`).toMatchObject([{ ...was }])
})
