// Speed-ups of a Safe's transactions, on a real chain with the canonical contracts behind go-ethereum's pool: of its
// deployment and of its executions, and refused ones.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { type Address, parseAbi } from 'viem'
import { deployCanonicalContracts } from '../../devnet/canonical-contracts.ts'
import { GWEI, type LadderWorld, network, RECIPIENT, startLadderWorld } from './ladder-world.ts'

const PIN = '493817'
const OTHER_PIN = '627184'
const SAFE = parseAbi(['function nonce() view returns (uint256)'])
/** Above the top rung of a transaction signed at one gwei. */
const SPIKE_WEI = 300n * GWEI

type Safe = { readonly address: Address; readonly owner: Address }

let world: LadderWorld
/** A deployed wallet, used by several tests. */
let safe: Safe

beforeAll(async () => {
  world = await startLadderWorld()
  await world.chain.setAutomine(true)
  await deployCanonicalContracts(world.chain.rpcUrl)
  await world.chain.setAutomine(false)
  safe = await deployedSafe()
})

afterEach(() => world.mineAt(GWEI))

afterAll(() => world.close())

const post = (safe: Pick<Safe, 'address'>, unsigned: Record<string, string>) =>
  world.service.post('/transactions/sign-and-send', {
    network,
    signer_wallet_address: safe.address,
    unsigned_transaction: { to: RECIPIENT, ...unsigned },
    user_pin: PIN,
  })

const speedUp = (id: string, body: Record<string, string> = { user_pin: PIN }) =>
  world.service.post('/transactions/speed-up', { transaction_id: id, ...body })

/** A wallet that is not deployed. It and its owner's key have coins. */
const newSafe = async (): Promise<Safe> => {
  const body = { network, name: 'A Safe', type: 'contract', control_mode: 'user', user_pin: PIN }
  const { json } = await world.service.post('/wallets', { ...body, owner_id: crypto.randomUUID() })
  // A client learns the address of the owner's key from the error about missing coins for gas.
  const poor = await post(json, { value: '0' })
  const [owner] = /^0x[0-9a-fA-F]{40}/.exec(poor.json.error) ?? []
  if (owner === undefined) throw new Error(`no owner in ${poor.text}`)
  for (const address of [owner, json.address] as Address[]) await world.chain.fund(address, 10n ** 20n)
  return { address: json.address, owner: owner as Address }
}

const send = async (safe: Safe, unsigned: Record<string, string>): Promise<string> => {
  const answer = await post(safe, unsigned)
  if (answer.status !== 200) throw new Error(`not recorded: ${answer.text}`)
  return answer.json.transaction_id
}

const deploymentOf = async (safe: Safe): Promise<string> => {
  const [row] = await world.sql<{ id: string }[]>`
    select id from transactions where contract_wallet = ${safe.address} and kind = 'deployment'`
  if (row === undefined) throw new Error('no deployment is recorded')
  return row.id
}

const deployedSafe = async (): Promise<Safe> => {
  const safe = await newSafe()
  const id = await send(safe, { value: '1' })
  await world.taken(await deploymentOf(safe))
  await world.mineAt(GWEI)
  await world.taken(id)
  await world.mineAt(GWEI)
  await ended(id)
  return safe
}

const ended = async (id: string) => (await world.service.settled(id)).json

const countsOf = async ({ address, owner }: Safe) => ({
  executions: await world.chain.publicClient.readContract({ address, abi: SAFE, functionName: 'nonce' }),
  sent: await world.chain.publicClient.getTransactionCount({ address: owner }),
})

const paid = () => world.chain.publicClient.getBalance({ address: RECIPIENT })
const isDeployed = async ({ address }: Safe) => (await world.chain.publicClient.getCode({ address })) !== undefined

/** Raises fees above everything that it can offer. */
const spike = async (id: string): Promise<void> => {
  await world.mineAt(SPIKE_WEI)
  // If the tips of earlier blocks were high, the last rung but one pays for the next block, and time takes it to the
  // last one.
  const { chosen, rungs } = await world.until(id, (row) => row.chosen >= row.rungs - 2)
  if (chosen < rungs - 1) await world.climb(id)
  expect((await world.statusOf(id)).status).toBe('pending')
}

const statusesOf = async (id: string) => {
  const statuses = new Set<string>()
  for (const { hash } of await world.attemptsOf(id)) statuses.add((await world.statusOfHash(hash)).status)
  return [...statuses]
}

describe("a Safe's execution", () => {
  test('that waits for lower fees than its ladder offers is sped up with its owner’s PIN, and executed once', async () => {
    const [before, counts] = [await paid(), await countsOf(safe)]
    const id = await send(safe, { value: '7' })
    await world.taken(id)
    await spike(id)
    const { rungs } = await world.rowOf(id)
    const answer = await speedUp(id)
    expect(answer.json).toEqual({ transaction_id: id, network, status: 'pending' })
    await world.until(id, ({ chosen }) => chosen === rungs)
    const { shown_hash: hash } = await world.taken(id)
    await world.mineAt(SPIKE_WEI)
    expect(await ended(id)).toMatchObject({ status: 'success', transaction_hash: hash })
    expect(await paid()).toBe(before + 7n)
    expect(await countsOf(safe)).toEqual({ executions: counts.executions + 1n, sent: counts.sent + 1 })
    expect(await statusesOf(id)).toEqual(['success'])
    // The next one is not affected.
    const next = await send(safe, { value: '1' })
    await world.taken(next)
    await world.mineAt(SPIKE_WEI)
    expect((await ended(next)).status).toBe('success')
  })

  test('succeeds if an earlier attempt is mined, and is executed once', async () => {
    const [before, counts] = [await paid(), await countsOf(safe)]
    const id = await send(safe, { value: '7' })
    await world.taken(id)
    const [first] = await world.attemptsOf(id)
    // The tracker may or may not have reported it by then.
    await world.mineAt(GWEI)
    const answer = await speedUp(id)
    expect([200, 409]).toContain(answer.status)
    expect(await ended(id)).toMatchObject({ status: 'success', transaction_hash: first?.hash })
    const late = await speedUp(id)
    expect({ status: late.status, code: late.json.code }).toEqual({ status: 409, code: 'transaction_not_waiting' })
    expect(await paid()).toBe(before + 7n)
    expect(await countsOf(safe)).toEqual({ executions: counts.executions + 1n, sent: counts.sent + 1 })
  })

  test('that fails in an inner call after a speed-up is reported as failed, once', async () => {
    const counts = await countsOf(safe)
    const id = await send(safe, { value: '7' })
    await world.taken(id)
    await spike(id)
    expect((await speedUp(id)).status).toBe(200)
    await world.chain.fund(safe.address, 0n)
    await world.until(id, ({ chosen, rungs }) => chosen < rungs - 1)
    await world.taken(id)
    await world.mineAt(SPIKE_WEI)
    expect(await ended(id)).toMatchObject({ status: 'failed', code: 'execution_reverted' })
    expect(await countsOf(safe)).toEqual({ ...counts, sent: counts.sent + 1 })
    await world.chain.fund(safe.address, 10n ** 20n)
  })

  test('with fees fixed by the caller is mined after one speed-up at a higher fee', async () => {
    const [before, counts] = [await paid(), await countsOf(safe)]
    const fees = (gwei: bigint) => ({
      maxFeePerGas: String(gwei * GWEI),
      maxPriorityFeePerGas: String((gwei * GWEI) / 20n),
    })
    const id = await send(safe, { value: '7', ...fees(20n) })
    await world.taken(id)
    await world.mineAt(SPIKE_WEI)
    const attempts = await world.attemptsOf(id)
    const low = await speedUp(id, { user_pin: PIN, ...fees(21n) })
    expect({ status: low.status, code: low.json.code }).toEqual({ status: 400, code: 'fee_too_low' })
    expect(await world.attemptsOf(id)).toEqual([...attempts])
    expect((await speedUp(id, { user_pin: PIN, ...fees(2n * (SPIKE_WEI / GWEI)) })).status).toBe(200)
    await world.until(id, ({ chosen }) => chosen === 1)
    await world.taken(id)
    await world.mineAt(SPIKE_WEI)
    expect((await ended(id)).status).toBe('success')
    expect(await paid()).toBe(before + 7n)
    expect(await countsOf(safe)).toEqual({ executions: counts.executions + 1n, sent: counts.sent + 1 })
  })
})

describe("a Safe's execution before deployment", () => {
  test('and its deployment can both be sped up: it is deployed, then executes once', async () => {
    const fresh = await newSafe()
    const before = await paid()
    const id = await send(fresh, { value: '7' })
    const deployment = await deploymentOf(fresh)
    await world.taken(deployment)
    await world.refused(id)
    await spike(deployment)
    const { rungs } = await world.rowOf(deployment)
    // A speed-up does not send a transaction that is held back.
    expect((await speedUp(id)).status).toBe(200)
    const row = await world.until(id, ({ chosen, cause }) => chosen === 1 && cause !== null)
    expect(row).toMatchObject({ status: 'submitted', shown_hash: null })
    expect((await speedUp(deployment)).json).toEqual({ transaction_id: deployment, network, status: 'pending' })
    await world.until(deployment, ({ chosen }) => chosen === rungs)
    await world.taken(deployment)
    await world.mineAt(SPIKE_WEI)
    expect(await isDeployed(fresh)).toBe(true)
    await world.taken(id)
    await world.mineAt(SPIKE_WEI)
    for (const each of [deployment, id]) expect((await ended(each)).status).toBe('success')
    expect(await paid()).toBe(before + 7n)
    expect(await countsOf(fresh)).toEqual({ executions: 1n, sent: 2 })
  })
})

describe("a speed-up of a Safe's transaction is refused", () => {
  let waiting: string

  beforeAll(async () => {
    await world.service.newWallet({ network, pin: OTHER_PIN, ownerId: crypto.randomUUID() })
    waiting = await send(safe, { value: '7' })
    await world.taken(waiting)
  })

  test.each([
    ["with another owner's PIN", { user_pin: OTHER_PIN }, [403, 'INVALID_SECRET']],
    ['with the secret of the developer alone', { developer_secret: 'testnet-secret' }, [400, 'credential_required']],
    ['without a credential', {}, [400, 'credential_required']],
  ] as const)('%s', async (_, credentials, refusal) => {
    const before = await world.attemptsOf(waiting)
    const { status, json } = await speedUp(waiting, credentials)
    expect([status, json.code]).toEqual([...refusal])
    expect(await world.attemptsOf(waiting)).toEqual([...before])
  })
})
