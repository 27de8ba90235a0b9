// What a preview costs beside the node's own work: the time of each request over HTTP, less the time in which the node
// had a question of it, measured at a door to the node in the same run.

import { encodeFunctionData } from 'viem'
import { fundedAccount, type TestChain } from '../test/support/chains.ts'
import type { Service } from '../test/support/service.ts'
import { permit } from '../test/typed-data/data.ts'
import { median } from './load.ts'
import { startStack } from './stack.ts'

const NETWORK = 'Ethereum'
const ROUNDS = 300
const WARM_UP_ROUNDS = 100

/** Medians, and requests to the node for each. */
export type PreviewCosts = {
  readonly what: string
  readonly ownMs: number
  readonly nodeMs: number
  readonly totalMs: number
  readonly requests: number
}

/** Speaks JSON-RPC on a free port of this machine; `take` tells for how long there was a question at the node. */
const startTimingNode = (behind: string) => {
  let underWay = 0
  let since = 0
  let busyMs = 0
  let requests = 0
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (incoming) => {
      requests += 1
      if (underWay++ === 0) since = performance.now()
      const headers = { 'content-type': 'application/json' }
      const body = await incoming.arrayBuffer()
      const answer = await (await fetch(behind, { method: 'POST', headers, body })).arrayBuffer()
      if (--underWay === 0) busyMs += performance.now() - since
      return new Response(answer, { headers })
    },
  })
  const take = (): { readonly busyMs: number; readonly requests: number } => {
    const taken = { busyMs, requests }
    busyMs = requests = 0
    return taken
  }
  return { rpcUrl: `http://127.0.0.1:${server.port}`, take, stop: () => server.stop(true) }
}

/** A preview's own time with 1 and with 20 elements, all of known contracts, one request at a time. */
export const benchPreview = async (input: {
  readonly chain: TestChain
  readonly start: (rpcUrl: string) => Promise<Service>
}): Promise<readonly PreviewCosts[]> => {
  const { chain } = input
  const node = startTimingNode(chain.rpcUrl)
  const service = await input.start(node.rpcUrl)
  const stack = await startStack(service)
  const client = service.as(service.project, stack.url)
  const from = fundedAccount(0).address
  const to = fundedAccount(1).address
  const token = await chain.deploy('TestToken', ['Dollars', 'USD', 6])
  await chain.write({ contract: token, functionName: 'mint', args: [from, 1_000_000n] })
  const data = encodeFunctionData({ abi: token.abi, functionName: 'transfer', args: [to, 1n] })
  const transfer = { to: token.address, input: data }
  const typed_data = permit(
    { name: 'USD Coin', chainId: await chain.publicClient.getChainId(), verifyingContract: token.address },
    { owner: from, spender: token.address, value: '2500000', nonce: 0, deadline: '1893456000' },
  )
  const measure = async (what: string, path: string, body: Record<string, unknown>): Promise<PreviewCosts> => {
    const costs: { totalMs: number; busyMs: number; requests: number }[] = []
    for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round += 1) {
      node.take()
      const begun = performance.now()
      const answer = await client.post(path, { network: NETWORK, ...body })
      const totalMs = performance.now() - begun
      if (answer.status !== 200) throw new Error(`a preview was answered ${answer.status}: ${answer.text}`)
      if (round >= WARM_UP_ROUNDS) costs.push({ totalMs, ...node.take() })
    }
    return {
      what,
      ownMs: median(costs.map(({ totalMs, busyMs }) => totalMs - busyMs)),
      nodeMs: median(costs.map(({ busyMs }) => busyMs)),
      totalMs: median(costs.map(({ totalMs }) => totalMs)),
      requests: median(costs.map(({ requests }) => requests)),
    }
  }
  try {
    return [
      await measure('1 token transfer', '/transactions/preview', { from, unsigned_transaction: transfer }),
      await measure('1 payment', '/transactions/preview', { from, unsigned_transaction: { to, value: '1' } }),
      await measure('a bundle of 20 token transfers', '/transactions/preview-bundle', {
        from,
        unsigned_transactions: Array.from({ length: 20 }, () => transfer),
      }),
      await measure('a permit of a known token', '/transactions/preview-typed-data', {
        signer_wallet_address: from,
        typed_data,
      }),
    ]
  } finally {
    await stack.stop()
    await service.close()
    node.stop()
  }
}
