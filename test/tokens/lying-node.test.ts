// One of two nodes lies about a token: its amounts are not read, and nothing of the lie is kept.

import { beforeEach, expect, test } from 'bun:test'
import { decodeFunctionData, type Hex, parseAbi, toFunctionSelector } from 'viem'
import { type Behaviour, startFakeNode } from '../chains/evm/fake-node.ts'
import { fundedAccount, startChain } from '../support/chains.ts'
import { someOf } from '../support/long.ts'
import { type Answer, startService } from '../support/service.ts'
import { afterTests, shared } from '../support/shared.ts'

const network = 'Ethereum'
const SECRET = { developer_secret: 'testnet-secret' }
const RECIPIENT = fundedAccount(5).address
const DECIMALS = toFunctionSelector('decimals()')
const ABI = parseAbi(['function transfer(address to, uint256 value)'])

const chain = await shared(startChain(network))
const nodes = [startFakeNode({ behind: chain.rpcUrl }), startFakeNode({ behind: chain.rpcUrl })] as const
const service = await shared(startService({ rpcUrls: { [network]: nodes.map(({ rpcUrl }) => rpcUrl).join(' ') } }))
const { sql } = service.database
const from = (await service.newWallet({ network })).address
await chain.fund(from, 10n ** 18n)
afterTests(() => Promise.all(nodes.map((node) => node.stop())))

const HONEST: Behaviour = () => undefined
const dataOf = ({ params: [call] }: Parameters<Behaviour>[0]): unknown =>
  typeof call === 'object' && call !== null && 'data' in call ? call.data : undefined
const isDecimals: (request: Parameters<Behaviour>[0]) => boolean = (request) =>
  request.method === 'eth_call' && (dataOf(request) === DECIMALS || JSON.stringify(request.params).includes(DECIMALS))
const LYING: Behaviour = (request) =>
  isDecimals(request) ? { result: `0x${(12).toString(16).padStart(64, '0')}` } : undefined

beforeEach(() => {
  for (const node of nodes) node.behave(HONEST)
})

const newToken = async (): Promise<string> => {
  const token = await chain.deploy('TestToken', ['Test', 'TST', 6])
  await chain.write({ contract: token, functionName: 'mint', args: [from, 10n ** 18n] })
  return token.address
}

const transfer = (token: string): Promise<Answer> =>
  service.post('/tokens/transfer', { network, from, token, recipient: RECIPIENT, amount: '1.5', ...SECRET })

const amountOf = async ({ json }: Answer): Promise<unknown> => {
  const [row] = await sql<{ input: Hex }[]>`select input from transactions where id = ${json.transaction_id}`
  return decodeFunctionData({ abi: ABI, data: row?.input ?? '0x' }).args[1]
}

const storedOf = async (address: string): Promise<unknown> => {
  const rows = await sql`select decimals, mac is not null as own from contract_facts where address = ${address}`
  return rows.map((row) => ({ ...row }))
}

test.each(someOf([0, 1], 2))('node %i lies: 503 until it tells the truth, and then the right amount', async (index) => {
  const token = await newToken()
  nodes[index]?.behave(LYING)
  for (const path of ['/tokens/transfer', '/tokens/batch-transfer']) {
    const amounts = { recipient: RECIPIENT, amount: '1.5' }
    const body = path === '/tokens/transfer' ? amounts : { transfers: [amounts] }
    const { status, json } = await service.post(path, { network, from, token, ...body, ...SECRET })
    expect([status, json]).toEqual([
      503,
      { code: 'unavailable', error: `The nodes of Ethereum disagree about the contract ${token}: try again later.` },
    ])
  }
  expect(await storedOf(token)).toEqual([])
  nodes[index]?.behave(HONEST)
  expect(await amountOf(await transfer(token))).toBe(1_500_000n)
  expect(await storedOf(token)).toEqual([{ decimals: 6, own: true }])
  // What two nodes said is believed later.
  nodes[index]?.behave(LYING)
  expect(await amountOf(await transfer(token))).toBe(1_500_000n)
})

test('the operator learns of it once for each contract, with what the nodes say', async () => {
  const warned: object[] = []
  const { log } = service.ctx
  const { warn } = log
  Object.assign(log, { warn: (facts: object, sentence: string) => warned.push({ ...facts, sentence }) })
  try {
    const [one, other] = [await newToken(), await newToken()]
    expect((await transfer(one)).status).toBe(200)
    expect(warned).toEqual([])
    const { address } = await chain.deploy('TestToken', ['Third', 'TRD', 6])
    nodes[0].behave(LYING)
    for (const token of [other, address, other, address, other]) expect((await transfer(token)).status).toBe(503)
    const warning = (contract: string, name: string, symbol: string) => ({
      ...{ network, contract, sentence: 'the nodes disagree about the facts of a contract' },
      said: expect.arrayContaining(
        [12, 6].map((decimals) => ({ isContract: true, standard: 'erc20', name, symbol, decimals })),
      ),
    })
    expect(warned).toEqual([warning(other, 'Test', 'TST'), warning(address, 'Third', 'TRD')])
  } finally {
    Object.assign(log, { warn })
  }
})

test('a preview shows no amount while the nodes disagree, and keeps none', async () => {
  const token = await newToken()
  nodes[0].behave(LYING)
  const unsigned_transaction = { to: token, input: '0x18160ddd' }
  const { status, json } = await service.post('/transactions/preview', { network, from, unsigned_transaction })
  expect([status, json.code]).toEqual([503, 'unavailable'])
  expect(await storedOf(token)).toEqual([])
})

test('a node that does not answer has no say, but one node alone is not believed later', async () => {
  const token = await newToken()
  nodes[1].behave((request) =>
    isDecimals(request) ? { error: { code: -32_005, message: 'limit exceeded' } } : undefined,
  )
  expect(await amountOf(await transfer(token))).toBe(1_500_000n)
  expect(await storedOf(token)).toEqual([{ decimals: 6, own: false }])
  nodes[1].behave(LYING)
  expect((await transfer(token)).status).toBe(503)
})

test('what lists read is not believed by what signs', async () => {
  const token = await newToken()
  nodes[0].behave(LYING)
  nodes[1].behave(LYING)
  await service.ctx.chains.withNode(network).facts([token])
  expect(await storedOf(token)).toEqual([{ decimals: 12, own: false }])
  for (const node of nodes) node.behave(HONEST)
  expect(await amountOf(await transfer(token))).toBe(1_500_000n)
  expect(await storedOf(token)).toEqual([{ decimals: 6, own: true }])
})
