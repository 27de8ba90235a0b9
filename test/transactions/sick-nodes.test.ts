// The whole service over two nodes of one network, of which one is in trouble: no request fails, no status is wrong.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { encodeAddress } from '@polkadot/util-crypto'
import type { Network } from '../../db/words.ts'
import { fundedAccount, startChain } from '../support/chains.ts'
import { runCli } from '../support/cli.ts'
import { isLong } from '../support/long.ts'
import { type Answer, type Service, startService } from '../support/service.ts'
import { type SickNode, startSickNode, TROUBLES } from '../support/sick-node.ts'
import { devAccount, startSubstrateChain } from '../support/substrate.ts'
import { startWorkerHere, type WorkerHere } from '../support/worker-here.ts'

type World = {
  readonly network: Network
  readonly nodes: readonly [SickNode, SickNode]
  readonly to: string
  /** For each trouble of each node. */
  readonly intents: number
  readonly nodeTimeoutMs: number
  fund(address: string): Promise<void>
  stop(): Promise<unknown>
}

const evmWorld = async (): Promise<World> => {
  const chain = await startChain('Ethereum')
  return {
    network: 'Ethereum',
    nodes: [startSickNode(chain.rpcUrl), startSickNode(chain.rpcUrl)],
    to: fundedAccount(5).address,
    intents: 3,
    // Shorter than by default, as the worker waits for it while a node hangs.
    nodeTimeoutMs: 5_000,
    fund: (address) => chain.fund(address as `0x${string}`),
    stop: chain.stop,
  }
}

const substrateWorld = async (): Promise<World> => {
  const chain = await startSubstrateChain('Polkadot')
  const to = encodeAddress((await devAccount('Bob')).publicKey, 0)
  await chain.fund(to)
  return {
    network: 'Polkadot',
    nodes: [startSickNode(chain.rpcUrl, 'substrate'), startSickNode(chain.rpcUrl, 'substrate')],
    to,
    intents: isLong ? 3 : 1,
    nodeTimeoutMs: 15_000,
    fund: (address) => chain.fund(address),
    stop: chain.stop,
  }
}

/** Each trouble at each node. */
const ALL = TROUBLES.flatMap((trouble) => ([0, 1] as const).map((position) => ({ trouble, position })))
/** Two troubles that no time limit has to end, one at each node. */
const SHORT = ALL.filter(({ trouble, position }) => trouble === 'answers 500' && position === 0)

describe.each([
  ['an EVM network', evmWorld],
  ...(isLong ? ([['a Substrate network', substrateWorld]] as const) : []),
] as const)('%s with two nodes', (_, start) => {
  let world: World
  let service: Service
  let worker: WorkerHere
  let signer: string

  beforeAll(async () => {
    world = await start()
    const [first, second] = world.nodes
    service = await startService({
      // One by WebSocket and one by HTTP.
      rpcUrls: { [world.network]: `${first.wsUrl},${second.url}` },
      variables: { NODE_TIMEOUT_MS: String(world.nodeTimeoutMs) },
    })
    worker = await startWorkerHere(service, { LOG_LEVEL: 'error' })
    signer = (await service.newWallet({ network: world.network })).address
    await world.fund(signer)
  })

  afterAll(async () => {
    await worker.stop()
    await service.close()
    for (const node of world.nodes) await node.stop()
    await world.stop()
  })

  afterEach(async () => {
    for (const node of world.nodes) await node.fall(null)
    while ((await views()).some(({ state }) => state !== 'up')) await sleep(100)
  })

  const intent = (value: number): Promise<Answer> =>
    service.post('/transactions/sign-and-send', {
      network: world.network,
      signer_wallet_address: signer,
      unsigned_transaction: { to: world.to, value: String(value) },
      developer_secret: 'testnet-secret',
    })

  const preview = (): Promise<Answer> =>
    service.post('/transactions/preview', {
      network: world.network,
      from: signer,
      unsigned_transaction: { to: world.to, value: '1' },
    })

  const views = () => service.ctx.chains.withNode(world.network).lookAtNodes()

  test.each(isLong ? ALL : SHORT)(
    'of which node $position $trouble: every intent is accepted and succeeds',
    async ({ trouble, position }) => {
      const sick = world.nodes[position]
      await sick.fall(trouble)
      const answers: Answer[] = []
      for (let value = 1; value <= world.intents; value += 1) answers.push(await intent(value), await preview())
      expect(answers.filter(({ status }) => status !== 200).map(({ text }) => text)).toEqual([])
      for (const { json } of answers.filter(({ json: { transaction_id: id } }) => id !== undefined)) {
        const { json: settled } = await service.settled(json.transaction_id, 60_000)
        expect(settled).toMatchObject({ status: 'success' })
      }
      // A check waits only 1.5 s for the nodes, which may be too short on a busy machine.
      const readyz = async () => (await service.get('/readyz')).json.networks[world.network]
      while (!['ready', 'stalled'].includes(await readyz())) await sleep(100)
    },
  )

  test('a signed transaction reaches both nodes', async () => {
    for (const node of world.nodes) node.takeAsked()
    const { json } = await intent(1)
    expect((await service.settled(json.transaction_id)).json).toMatchObject({ status: 'success' })
    const method = world.network === 'Ethereum' ? 'eth_sendRawTransaction' : 'author_submitExtrinsic'
    for (const node of world.nodes) {
      const asked: string[] = []
      while (!asked.includes(method)) {
        asked.push(...node.takeAsked())
        await sleep(20)
      }
    }
  })

  test('the command line shows each node', async () => {
    const [first] = world.nodes
    await first.fall('lies')
    const variables = { ...service.variables, VAULT_SOCKET: '', IDENTITY_KEY: '' }
    const { exitCode, output, errors } = await runCli(['nodes', '--json'], variables)
    await first.fall(null)
    expect({ errors, exitCode }).toMatchObject({ exitCode: 0 })
    expect(JSON.parse(output)).toMatchObject([
      { network: world.network, node: '1 (127.0.0.1)', state: 'wrong_chain', height: null },
      {
        network: world.network,
        node: '2 (127.0.0.1)',
        state: 'up',
        height: expect.stringMatching(/^\d+$/),
        behind_seconds: 0,
      },
    ])
  })
})
