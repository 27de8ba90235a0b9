// What a crash test plays in: a chain, a database, an API and a worker as processes that can be killed at any message,
// signers with money and tokens, and clients that send.

import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import type { Address } from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { deployCanonicalContracts } from '../../src/devnet/canonical-contracts.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { createMortal, type Mortal } from '../support/mortal.ts'
import { type Service, startService } from '../support/service.ts'
import {
  createAccount,
  halvesOf,
  type Intent,
  jobTroubles,
  type Signer,
  TOKEN_ID,
  unfinished,
} from './crash-account.ts'

const network = 'Ethereum'
const SECRET = 'testnet-secret'
const SIGNERS = 4
const TOKENS = 1_000_000n
const BLOCK_TIME_MS = 250
/** With a slot an epoch a block is final that has two on top of it. */
const BLOCKS_TO_FINAL = 3
/** What was left behind at a bad moment waits for the reconciler, which comes every half a minute. */
const SETTLE_TIMEOUT_MS = 60_000
const POLL_MS = 15

/** When blocks come: with each transaction, or now and then with whatever is in the pool. */
export type Blocks = 'at once' | 'by clock'

const until = async (isTrue: () => boolean | Promise<boolean>, otherwise: () => Promise<string>): Promise<void> => {
  const deadline = Date.now() + SETTLE_TIMEOUT_MS
  while (!(await isTrue())) {
    if (Date.now() > deadline) throw new Error(await otherwise())
    await sleep(POLL_MS)
  }
}

const startSigner = async (service: Service, chain: TestChain): Promise<Signer> => {
  const { address } = await service.newWallet({ network })
  await chain.fund(address)
  const collection = await chain.deploy('WizardCollection', ['Doors', 'DOOR', address])
  return { address, owner: address, collection: collection.address }
}

/** With coins for itself and for its key; nothing is deployed. */
const startSafe = async (service: Service, chain: TestChain): Promise<Signer> => {
  const key = generatePrivateKey()
  const control = { control_mode: 'developer', developer_secret: SECRET }
  const { json } = await service.post('/wallets/import', {
    ...{ network, type: 'contract', name: 'A Safe', private_key: key, ...control },
  })
  const owner = privateKeyToAddress(key)
  await Promise.all([chain.fund(owner), chain.fund(json.address)])
  return { address: json.address, owner, collection: null }
}

/** A chain with its contracts, and signers who have all that they need. */
const startPlaces = async (blocks: Blocks) => {
  const chain = await startChain(network, { flags: ['--slots-in-an-epoch', '1'] })
  await deployCanonicalContracts(chain.rpcUrl)
  const service = await startService({ rpcUrls: { [network]: chain.rpcUrl } })
  const token = await chain.deploy('MultiToken', ['', fundedAccount(0).address])
  const signers: Signer[] = []
  for (let each = 0; each < SIGNERS; each += 1) {
    const signer = await startSigner(service, chain)
    const args = [signer.address, TOKEN_ID, TOKENS, '0x']
    await chain.write({ contract: token, functionName: 'mint', args })
    signers.push(signer)
  }
  const sql = postgres(service.database.url, { max: 2, onnotice: () => {} })
  const clock = blocks === 'by clock' ? setInterval(() => void chain.mine().catch(() => {}), BLOCK_TIME_MS) : null
  if (clock !== null) await chain.setAutomine(false)
  return { chain, service, sql, token: token.address, signers, clock }
}

type Places = Awaited<ReturnType<typeof startPlaces>>

const createProcesses = async ({ chain, service }: Places) => {
  const node = { variable: 'ETHEREUM_RPC_URL', rpcUrl: chain.rpcUrl }
  const variables = { ...service.variables, LOG_LEVEL: 'info' }
  const { apiUrl, workerUrl } = service.database
  const api = await createMortal({
    ...{ file: 'src/server.ts', databaseUrl: apiUrl, node, until: /"url":"(http[^"]+)"/ },
    variables: { ...variables, PORT: '0' },
  })
  const worker = await createMortal({
    ...{ file: 'jobs/worker.ts', databaseUrl: workerUrl, node, until: /"msg":"working"/ },
    variables: { ...variables, ROOT_KEY: '' },
  })
  return { api, worker }
}

const requestOf = (intent: Intent, { token, signers }: { token: Address; signers: readonly Signer[] }) => {
  const { kind, signer, recipient, value } = intent
  const common = { network, developer_secret: SECRET }
  const nft = { ...common, from: signer, recipient }
  const contract_address = signers.find(({ address }) => address === signer)?.collection
  switch (kind) {
    case 'pay': {
      const unsigned_transaction = { to: recipient, value: String(value) }
      const body = { ...common, signer_wallet_address: signer, unsigned_transaction }
      return { path: '/transactions/sign-and-send', body }
    }
    case 'transfer':
      return { path: '/nfts/transfer', body: { ...nft, contract_address: token, token_id: String(TOKEN_ID) } }
    case 'mint':
      return { path: '/nfts/mint', body: { ...nft, contract_address, uri: `https://example.com/${recipient}` } }
    case 'mint with metadata': {
      const metadata = { name: recipient, description: '', image: 'https://example.com/d.png' }
      return { path: '/nfts/mint', body: { ...nft, contract_address, metadata } }
    }
  }
}

export const startCrashWorld = async (blocks: Blocks) => {
  const places = await startPlaces(blocks)
  const { chain, service, sql, signers, clock } = places
  const { api, worker } = await createProcesses(places)
  const ready = new Set<Mortal>()
  let baseUrl = ''

  /** Starts a process, which may be killed before it is ready. */
  const start = async (mortal: Mortal): Promise<void> => {
    const starting = mortal.start()
    void mortal.ended().then(() => ready.delete(mortal))
    const match = await starting
    if (match === null || !mortal.isAlive()) return
    if (mortal === api) baseUrl = match[1] ?? ''
    ready.add(mortal)
  }

  /** Asks once. @returns whether an answer came; where none did, nobody knows what was done. */
  const ask = async (intent: Intent): Promise<boolean> => {
    const { path, body } = requestOf(intent, places)
    await until(
      () => ready.has(api),
      async () => 'the API did not come back',
    )
    const answer = await fetch(baseUrl + path, {
      method: 'POST',
      // On a connection that was used before, fetch itself might ask again when it breaks.
      keepalive: false,
      headers: {
        authorization: `Bearer ${service.project.apiKey}`,
        'x-walletkit-project-id': service.project.projectId,
        'content-type': 'application/json',
        ...(intent.idempotencyKey === null ? {} : { 'idempotency-key': intent.idempotencyKey }),
      },
      body: JSON.stringify(body),
    })
      .then(async (response) => ({ status: response.status, text: await response.text() }))
      .catch(() => null)
    if (answer === null) return false
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${answer.text}`)
    const { transaction_id: id } = JSON.parse(answer.text)
    if (intent.answer !== null && intent.answer !== id) throw new Error(`${path} answered with another transaction`)
    intent.answer = id
    return true
  }

  /** As a client does: one with an idempotency key asks until it is answered. */
  const send = async (intent: Intent): Promise<void> => {
    while (!(await ask(intent)) && intent.idempotencyKey !== null) await sleep(POLL_MS)
  }

  const left = async (): Promise<readonly string[]> => [
    ...(await unfinished(sql)),
    ...(await jobTroubles(sql)),
    ...(ready.has(api) ? [] : ['the API is away']),
    ...(ready.has(worker) ? [] : ['the worker is away']),
  ]

  /** Waits until both processes live and nothing is left to do. @throws Error that tells what is. */
  const settle = async (): Promise<void> => {
    const otherwise = async () => `not settled: ${(await left()).join('; ')}`
    const isLive = () => sql`select from transactions where status in ('submitted', 'pending') limit 1`
    await until(async () => (await isLive()).length === 0, otherwise)
    if (clock === null) await chain.mine(BLOCKS_TO_FINAL)
    await until(async () => (await left()).length === 0, otherwise)
  }

  const untilCounted = (kind: string, count: number): Promise<void> =>
    until(
      () => (worker.counted().get(kind) ?? 0) >= count,
      async () => 'the worker does not begin to work',
    )

  return {
    ...{ api, worker, signers, start, send, settle },
    account: createAccount(places),
    /** A new Safe among the signers. */
    newSafe: async (): Promise<Signer> => {
      const safe = await startSafe(service, chain)
      signers.push(safe)
      return safe
    },
    halves: () => halvesOf(sql),
    /** Waits until the worker has begun to take jobs. */
    listens: () => untilCounted('db listen', 1),
    /** Waits until both of its followers have looked for blocks a few times. */
    looksAround: () => untilCounted('db select cursors', 6),
    /** Waits until every audit row is in its chain. */
    chained: () =>
      until(
        async () => (await sql`select from audit where id not in (select audit_id from audit_chain)`).length === 0,
        async () => 'audit rows stay unchained',
      ),
    close: async (): Promise<void> => {
      if (clock !== null) clearInterval(clock)
      await Promise.all([api.stop(), worker.stop()])
      await sql.end()
      await service.close()
      await chain.stop()
    },
  }
}

export type CrashWorld = Awaited<ReturnType<typeof startCrashWorld>>
