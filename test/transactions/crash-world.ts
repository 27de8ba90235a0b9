// The world of a crash test: a vault, an API and a worker on some chain, as processes that can be killed at any
// message, as can their PostgreSQL, and clients. The vault has a journal, and must never take its own database for one
// that was restored.

import { setTimeout as sleep } from 'node:timers/promises'
import { createMortal, type Mortal } from '../support/mortal.ts'
import { startVaultWire } from '../support/wire.ts'
import { createAccount, halvesOf, jobTroubles, unfinished } from './crash-account.ts'
import type { Ground, Intent } from './crash-ground.ts'

/** Work that was left at a bad moment waits for the reconciler, which runs every half minute. */
const SETTLE_TIMEOUT_MS = 60_000
const POLL_MS = 50
/** In a sentence of `unfinished`. */
const LIVE = / is (submitted|pending) /

const until = async (isTrue: () => boolean | Promise<boolean>, otherwise: () => Promise<string>): Promise<void> => {
  const deadline = Date.now() + SETTLE_TIMEOUT_MS
  while (!(await isTrue())) {
    if (Date.now() > deadline) throw new Error(await otherwise())
    await sleep(POLL_MS)
  }
}

const createProcesses = async ({ node, service }: Ground) => {
  const changes = { LOG_LEVEL: 'info', VAULT_SOCKET: `${service.variables.VAULT_SOCKET}.mortal` }
  const variables = { ...service.variables, ...changes }
  const { vaultUrl, apiUrl, workerUrl } = service.database
  const wirePath = `${changes.VAULT_SOCKET}.wire`
  const vault = await createMortal({
    ...{ program: 'src/main/vault', databaseUrl: vaultUrl, node, until: /"msg":"listening"/ },
    variables: { ...service.vaultVariables, ...changes, VAULT_JOURNAL: `${changes.VAULT_SOCKET}.journal` },
  })
  const api = await createMortal({
    ...{ program: 'src/main/api', databaseUrl: apiUrl, node, until: /"url":"(http[^"]+)"/ },
    variables: { ...variables, VAULT_SOCKET: wirePath, PORT: '0' },
  })
  const vaultWire = await startVaultWire({ path: wirePath, to: changes.VAULT_SOCKET, taps: [api.tap, vault.tap] })
  const worker = await createMortal({
    ...{ program: 'src/main/worker', databaseUrl: workerUrl, node, until: /"msg":"working"/ },
    variables: { ...variables, VAULT_SOCKET: '' },
  })
  return { vault, api, worker, vaultWire }
}

export const startCrashWorld = async (ground: Ground) => {
  const { server, service, sql } = ground
  const { vault, api, worker, vaultWire } = await createProcesses(ground)
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

  /** Asks once. @returns whether an answer came. Without one, it is not known what was done. */
  const ask = async (intent: Intent): Promise<boolean> => {
    const { path, body } = ground.requestOf(intent)
    await until(
      () => ready.has(api),
      async () => 'the API did not come back',
    )
    const answer = await fetch(baseUrl + path, {
      method: 'POST',
      // On a used connection, fetch might repeat the request by itself.
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
    if (answer.text.includes('cli restore')) throw new Error(`${path} answered: ${answer.text}`)
    // The vault or PostgreSQL was killed.
    if (answer.status === 503 && JSON.parse(answer.text).code === 'unavailable') return false
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${answer.text}`)
    const { transaction_id: id } = JSON.parse(answer.text)
    if (intent.answer !== null && intent.answer !== id) throw new Error(`${path} answered with another transaction`)
    intent.answer = id
    return true
  }

  /** Asks like a client: with an idempotency key, until there is an answer. */
  const send = async (intent: Intent): Promise<void> => {
    while (!(await ask(intent)) && intent.idempotencyKey !== null) await sleep(POLL_MS)
  }

  const left = (): Promise<readonly string[]> =>
    server.asked(async () => [
      ...(await unfinished(sql)),
      ...(await jobTroubles(sql)),
      ...(ready.has(vault) ? [] : ['the vault is away']),
      ...(ready.has(api) ? [] : ['the API is away']),
      ...(ready.has(worker) ? [] : ['the worker is away']),
    ])

  /** What the API says of itself, its database and its vault. */
  const readiness = () =>
    fetch(`${baseUrl}/readyz`)
      .then((answer) => answer.text())
      .catch(() => 'no answer')

  /**
   * Waits until all processes run and nothing is left to do. What the vault had signed when PostgreSQL died can be
   * recorded late: so the blocks that make transactions final are made again for those that come.
   * @throws Error that says what is left.
   */
  const settle = async (): Promise<void> => {
    let ended: string | null = null
    const otherwise = async () => `not settled: ${[...(await left()), await readiness()].join('; ')}`
    const isLive = async () => (await unfinished(sql)).some((each) => LIVE.test(each))
    const endNewOnes = async (): Promise<void> => {
      const open = (await unfinished(sql)).join()
      if (open === ended || LIVE.test(open)) return
      ended = open
      await ground.endAll()
    }
    await until(async () => !(await server.asked(isLive)), otherwise)
    await until(async () => {
      await server.asked(endNewOnes)
      return (await left()).length === 0 && (await readiness()).includes('"status":"ready"')
    }, otherwise)
  }

  const untilCounted = (kind: string, count: number): Promise<void> =>
    until(
      () => (worker.counted().get(kind) ?? 0) >= count,
      async () => 'the worker does not begin to work',
    )

  return {
    ...{ ground, server, vault, api, worker, start, send, settle },
    account: await createAccount(ground),
    halves: () => server.asked(() => halvesOf(sql)),
    /** Waits until the worker has begun to take jobs. */
    listens: () => untilCounted('db listen', 1),
    /** Waits until both of its followers have asked for blocks a few times. */
    looksAround: () => untilCounted('db select cursors', 6),
    /** Waits until every audit row is in its chain. */
    chained: () =>
      until(
        async () => (await sql`select from audit where id not in (select audit_id from audit_chain)`).length === 0,
        async () => 'audit rows stay unchained',
      ),
    close: async (): Promise<void> => {
      await Promise.all([api.stop(), worker.stop()])
      await vault.stop()
      await vaultWire.stop()
      await ground.close()
    },
  }
}

export type CrashWorld = Awaited<ReturnType<typeof startCrashWorld>>
