import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ANVIL_FUNDED_ADDRESS, type Anvil, type AnvilOptions, startAnvil } from '../../devnet/anvil.ts'
import { callRpc, callRpcForString } from '../../devnet/rpc.ts'
import { startChain } from '../support/chains.ts'
import { longTest } from '../support/long.ts'
import { until } from '../support/until.ts'

const RECIPIENT = '0x00000000000000000000000000000000000000aa'
let folder = ''
const started: Anvil[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strongroom-chain-'))
})

afterEach(async () => {
  for (const anvil of started.splice(0)) await anvil.process.stop()
  await rm(folder, { recursive: true, force: true })
})

const start = async (options: Partial<AnvilOptions> = {}): Promise<Anvil> => {
  const anvil = await startAnvil({ chainId: 84532, ...options })
  started.push(anvil)
  return anvil
}

const pay = (anvil: Anvil): Promise<string> =>
  callRpcForString(anvil.rpcUrl, {
    method: 'eth_sendTransaction',
    params: [{ from: ANVIL_FUNDED_ADDRESS, to: RECIPIENT, value: '0x1' }],
  })

const blockNumber = async ({ rpcUrl }: Anvil): Promise<number> =>
  Number(await callRpcForString(rpcUrl, { method: 'eth_blockNumber' }))

const receipt = ({ rpcUrl }: Anvil, hash: string): Promise<unknown> =>
  callRpc(rpcUrl, 'eth_getTransactionReceipt', [hash])

longTest('without a block time, only transactions make blocks', async () => {
  const anvil = await start()
  expect(await callRpc(anvil.rpcUrl, 'eth_chainId')).toBe('0x14a34')
  const hash = await pay(anvil)
  await until(async () => (await receipt(anvil, hash)) !== null)
  await sleep(1200)
  expect(await blockNumber(anvil)).toBe(1)
})

longTest('with a block time, blocks come periodically, and at once for a transaction', async () => {
  const anvil = await start({ blockTimeSeconds: 1 })
  await until(async () => (await blockNumber(anvil)) === 2)
  const hash = await pay(anvil)
  await sleep(300)
  expect(await receipt(anvil, hash)).toMatchObject({ status: '0x1', blockNumber: '0x3' })
})

test('after a restart, earlier blocks, transactions, receipts and logs are the same, and the chain goes on', async () => {
  const statePath = join(folder, 'chain.json.gz')
  const chain = await startChain('Base', { statePath })
  const token = await chain.deploy('TestToken', ['Token', 'TKN', 6])
  const { transactionHash } = await chain.write({ contract: token, functionName: 'mint', args: [RECIPIENT, 5n] })
  await chain.mine(3)
  const questions: readonly (readonly [string, readonly unknown[]])[] = [
    ['eth_getTransactionReceipt', [transactionHash]],
    ['eth_getTransactionByHash', [transactionHash]],
    ['eth_getLogs', [{ fromBlock: '0x0', toBlock: '0x5', address: token.address }]],
    ['eth_getBlockByNumber', ['0x0', false]],
    ['eth_getBlockByNumber', ['0x5', false]],
    ['eth_getCode', [token.address, 'latest']],
  ]
  const ask = (rpcUrl: string) => Promise.all(questions.map(([method, params]) => callRpc(rpcUrl, method, params)))
  const before = await ask(chain.rpcUrl)
  expect(before).not.toContain(null)
  await chain.stop()

  const again = await start({ statePath })
  expect(await ask(again.rpcUrl)).toEqual(before)
  expect(await blockNumber(again)).toBe(5)
  await pay(again)
  await until(async () => (await blockNumber(again)) === 6)
  const parent = (await callRpc(again.rpcUrl, 'eth_getBlockByNumber', ['0x5', false])) as { hash: string }
  expect(await callRpc(again.rpcUrl, 'eth_getBlockByNumber', ['0x6', false])).toMatchObject({ parentHash: parent.hash })
})

longTest('a killed chain restarts with all transactions that are older than a second', async () => {
  const statePath = join(folder, 'chain.json.gz')
  const first = await start({ statePath, blockTimeSeconds: 1 })
  const hash = await pay(first)
  await sleep(1500)
  process.kill(first.pid, 'SIGKILL')
  await first.process.exited
  await first.stop()
  const second = await start({ statePath })
  expect(await receipt(second, hash)).toMatchObject({ status: '0x1' })
})

longTest('a half-written file next to the state is ignored', async () => {
  const statePath = join(folder, 'chain.json.gz')
  const first = await start({ statePath })
  await pay(first)
  await first.stop()
  await writeFile(`${statePath}.new`, 'half')
  const second = await start({ statePath })
  expect(await blockNumber(second)).toBe(1)
  await second.stop()
  expect(await readdir(folder)).toEqual(['chain.json.gz'])
  expect((await readFile(statePath)).length).toBeGreaterThan(1000)
})

test('a port in use is an error', async () => {
  const first = await start()
  const port = Number(new URL(first.rpcUrl).port)
  await expect(startAnvil({ chainId: 84532, port })).rejects.toThrow('Address already in use')
})
