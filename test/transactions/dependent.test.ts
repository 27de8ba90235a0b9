// Intents that depend on transactions recorded just before. The node does not know those yet: as with hosted nodes, its
// pending state is that of its newest block. Blocks are held back, and in some tests the worker's sending too.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { type Address, encodeDeployData, encodeFunctionData, getContractAddress, type Hex } from 'viem'
import { createProject } from '../../src/operators/projects.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { testContract } from '../support/contracts.ts'
import { type Gate, startGate } from '../support/gate.ts'
import { longTest } from '../support/long.ts'
import { type Answer, type Service, startService } from '../support/service.ts'
import { startWorkerHere, type WorkerHere } from '../support/worker-here.ts'

const network = 'Ethereum'
const SECRET = 'testnet-secret'
const RECIPIENT = fundedAccount(5).address
/** Longer than a request waits for earlier transactions to be sent. */
const REFUSED_WITHIN_MS = 5_000

type Asked = { readonly method: string; readonly params: readonly unknown[] }

/** A proxy of a node that runs calls on the newest block, without the pending transactions. */
const startPoollessNode = (rpcUrl: string) => {
  const judged = new Set(['eth_estimateGas', 'eth_call'])
  const onNewest = (asked: Asked): Asked =>
    judged.has(asked.method) && asked.params[1] === 'pending'
      ? { ...asked, params: asked.params.with(1, 'latest') }
      : asked
  return Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      const asked = (await request.json()) as Asked | readonly Asked[]
      const body = JSON.stringify(Array.isArray(asked) ? asked.map(onNewest) : onNewest(asked as Asked))
      return fetch(rpcUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    },
  })
}

let chain: TestChain
let node: ReturnType<typeof startPoollessNode>
let gate: Gate
let service: Service
let worker: WorkerHere

beforeAll(async () => {
  chain = await startChain(network)
  node = startPoollessNode(chain.rpcUrl)
  gate = startGate(`http://127.0.0.1:${node.port}`)
  service = await startService({ rpcUrls: { [network]: gate.url } })
  worker = await startWorkerHere(service)
})

afterAll(async () => {
  await worker.stop()
  await service.close()
  await gate.stop()
  await node.stop(true)
  await chain.stop()
})

beforeEach(() => chain.setAutomine(false))
afterEach(() => chain.setAutomine(true))

const fundedWallet = async (): Promise<Address> => {
  const { address } = await service.newWallet({ network })
  await chain.fund(address)
  return address
}

type Unsigned = { readonly to?: Address; readonly value?: string; readonly input: Hex; readonly gasLimit?: string }

const send = (from: Address, unsigned: Unsigned): Promise<Answer> =>
  service.post('/transactions/sign-and-send', {
    network,
    signer_wallet_address: from,
    unsigned_transaction: unsigned,
    developer_secret: SECRET,
  })

const accepted = (answer: Answer): string => {
  expect(answer.json).toMatchObject({ status: 'submitted' })
  return answer.json.transaction_id
}

const isPending = async (id: string): Promise<void> => {
  const deadline = Date.now() + 20_000
  const status = async () => (await service.get('/transactions/status-by-id', { id })).json.status
  while ((await status()) !== 'pending' && Date.now() < deadline) await Bun.sleep(10)
  expect(await status()).toBe('pending')
}

/** Has all of them mined in one block, and checks their order in it. */
const minedInOrder = async (ids: readonly string[]): Promise<void> => {
  for (const id of ids) await isPending(id)
  await chain.mine()
  const receipts = []
  for (const id of ids) {
    const { status, transaction_hash: hash } = (await service.settled(id)).json
    expect(status).toBe('success')
    receipts.push(await chain.publicClient.getTransactionReceipt({ hash }))
  }
  const places = receipts.map(({ blockNumber, transactionIndex }) => Number(blockNumber) * 1_000 + transactionIndex)
  expect(places).toEqual(places.toSorted((one, other) => one - other))
}

/** A token of which `holder` has some. */
const tokenOf = async (holder: Address) => {
  await chain.setAutomine(true)
  const token = await chain.deploy('TestToken', ['Test', 'TST', 18])
  await chain.write({ contract: token, functionName: 'mint', args: [holder, 100n] })
  await chain.setAutomine(false)
  const call = (functionName: string, args: readonly unknown[]): Unsigned => ({
    to: token.address,
    input: encodeFunctionData({ abi: token.abi, functionName, args }),
  })
  const balanceOf = (address: Address) =>
    chain.publicClient.readContract({ ...token, functionName: 'balanceOf', args: [address] })
  return { ...token, call, balanceOf }
}

/** The wallet's first transaction deploys the token, so that a client knows its address beforehand. */
const creationOf = async (from: Address) => {
  const { abi, bytecode } = await testContract('TestToken')
  const address = getContractAddress({ from, nonce: 0n })
  const creation: Unsigned = { input: encodeDeployData({ abi, bytecode, args: ['Test', 'TST', 18] }) }
  const mint: Unsigned = {
    to: address,
    input: encodeFunctionData({ abi, functionName: 'mint', args: [RECIPIENT, 7n] }),
  }
  const minted = () => chain.publicClient.readContract({ abi, address, functionName: 'balanceOf', args: [RECIPIENT] })
  return { creation, mint, minted }
}

describe('two transactions of one signer, the first not yet sent, are both mined in order', () => {
  longTest('approve, then transferFrom', async () => {
    const wallet = await fundedWallet()
    const token = await tokenOf(wallet)
    using sending = gate.hold('before', 'eth_sendRawTransaction')
    const approve = accepted(await send(wallet, token.call('approve', [wallet, 30n])))
    await sending.reached
    const move = accepted(await send(wallet, token.call('transferFrom', [wallet, RECIPIENT, 30n])))
    sending.release()
    await minedInOrder([approve, move])
    expect(await token.balanceOf(RECIPIENT)).toBe(30n)
  })

  longTest('deposit, then withdraw, for the lack of which the contract has the words of a node', async () => {
    const wallet = await fundedWallet()
    await chain.setAutomine(true)
    const { address: to, abi } = await chain.deploy('WrappedCoin')
    await chain.setAutomine(false)
    const withdraw: Unsigned = { to, input: encodeFunctionData({ abi, functionName: 'withdraw', args: [4n] }) }
    expect((await send(wallet, withdraw)).json).toEqual({
      code: 'execution_reverted',
      error: 'execution reverted: Insufficient balance',
    })
    const deposit: Unsigned = { to, value: '4', input: encodeFunctionData({ abi, functionName: 'deposit' }) }
    await minedInOrder([accepted(await send(wallet, deposit)), accepted(await send(wallet, withdraw))])
  })

  longTest('approve, then transferFrom, which comes while the approval is prepared', async () => {
    const wallet = await fundedWallet()
    const token = await tokenOf(wallet)
    using preparing = gate.hold('before', 'eth_estimateGas')
    const approve = send(wallet, token.call('approve', [wallet, 30n]))
    await preparing.reached
    const before = gate.count('eth_estimateGas')
    const move = send(wallet, token.call('transferFrom', [wallet, RECIPIENT, 30n]))
    for (const deadline = Date.now() + 20_000; gate.count('eth_estimateGas') === before; await Bun.sleep(5)) {
      if (Date.now() > deadline) throw new Error('the transfer was not prepared')
    }
    preparing.release()
    await minedInOrder([accepted(await approve), accepted(await move)])
    expect(await token.balanceOf(RECIPIENT)).toBe(30n)
  })

  test('the creation of a contract, then a call of it, with enough gas for the call', async () => {
    const wallet = await fundedWallet()
    const { creation, mint, minted } = await creationOf(wallet)
    using sending = gate.hold('before', 'eth_sendRawTransaction')
    const ids = [accepted(await send(wallet, creation)), accepted(await send(wallet, mint))]
    await sending.reached
    sending.release()
    await minedInOrder(ids)
    expect(await minted()).toBe(7n)
  })
})

describe('transactions of two signers of a project', () => {
  test('approve, then transferFrom, whose request waits until the approval is sent', async () => {
    const [owner, spender] = [await fundedWallet(), await fundedWallet()]
    const token = await tokenOf(owner)
    using sending = gate.hold('before', 'eth_sendRawTransaction')
    const approve = accepted(await send(owner, token.call('approve', [spender, 30n])))
    await sending.reached
    const moving = send(spender, token.call('transferFrom', [owner, RECIPIENT, 30n]))
    // By now it has failed on its own, but was not refused.
    expect(await Promise.race([moving, Bun.sleep(200)])).toBeUndefined()
    sending.release()
    await minedInOrder([approve, accepted(await moving)])
    expect(await token.balanceOf(RECIPIENT)).toBe(30n)
  })

  longTest('approve, then transferFrom, then a transfer of the received tokens', async () => {
    const [owner, spender] = [await fundedWallet(), await fundedWallet()]
    const token = await tokenOf(owner)
    const ids = [accepted(await send(owner, token.call('approve', [spender, 30n])))]
    ids.push(accepted(await send(spender, token.call('transferFrom', [owner, spender, 30n]))))
    ids.push(accepted(await send(spender, token.call('transfer', [RECIPIENT, 30n]))))
    await minedInOrder(ids)
    expect(await token.balanceOf(RECIPIENT)).toBe(30n)
  })

  longTest('a mint, then a transfer by the recipient', async () => {
    const [minter, holder] = [await fundedWallet(), await fundedWallet()]
    await chain.setAutomine(true)
    const nfts = await chain.deploy('WizardCollection', ['Doors', 'DOOR', minter])
    await chain.setAutomine(false)
    const common = { network, contract_address: nfts.address, developer_secret: SECRET }
    const mint = await service.post('/nfts/mint', { ...common, from: minter, recipient: holder, uri: 'ipfs://door' })
    const transfer = await service.post('/nfts/transfer', {
      ...common,
      from: holder,
      recipient: RECIPIENT,
      token_id: '0',
    })
    await minedInOrder([accepted(mint), accepted(transfer)])
    const owner = await chain.publicClient.readContract({ ...nfts, functionName: 'ownerOf', args: [0n] })
    expect(owner).toBe(RECIPIENT)
  })

  longTest('the creation of a contract, then a call of it', async () => {
    const [creator, caller] = [await fundedWallet(), await fundedWallet()]
    const { creation, mint, minted } = await creationOf(creator)
    const ids = [accepted(await send(creator, creation)), accepted(await send(caller, mint))]
    await minedInOrder(ids)
    expect(await minted()).toBe(7n)
  })

  longTest('a call that would fail anyway is refused, even if it could wait for an earlier transaction', async () => {
    const [owner, spender] = [await fundedWallet(), await fundedWallet()]
    const token = await tokenOf(owner)
    await worker.stop()
    const approve = accepted(await send(owner, token.call('approve', [spender, 30n])))
    const begun = Date.now()
    const refused = await send(spender, token.call('transferFrom', [owner, RECIPIENT, 31n])).finally(async () => {
      worker = await startWorkerHere(service)
    })
    expect(refused.json).toMatchObject({ code: 'execution_reverted' })
    expect(Date.now() - begun).toBeLessThan(REFUSED_WITHIN_MS)
    await minedInOrder([approve])
  })

  longTest('transactions of another project are neither waited for nor taken into account', async () => {
    const other = service.as(await createProject(service.ctx, { name: 'Other', actor: 'operator' }))
    const theirs = await other.newWallet({ network })
    await chain.fund(theirs.address)
    const owner = await fundedWallet()
    const token = await tokenOf(owner)
    const approve = accepted(await send(owner, token.call('approve', [theirs.address, 30n])))
    await isPending(approve)
    const refused = await other.post('/transactions/sign-and-send', {
      network,
      signer_wallet_address: theirs.address,
      unsigned_transaction: token.call('transferFrom', [owner, RECIPIENT, 30n]),
      developer_secret: SECRET,
    })
    expect(refused.json).toMatchObject({ code: 'execution_reverted' })
    await minedInOrder([approve])
  })
})
