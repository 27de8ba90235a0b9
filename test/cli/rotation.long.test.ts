// The proof of rotation: many wallets, a thousand in the long run, keep their addresses and signatures (RFC 6979: the
// same key and digest always give the same signature) while others sign and the vault is killed many times in the
// middle of a rotation.

import { describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { insertProject } from '../../db/queries/projects.ts'
import type { WalletRow } from '../../db/queries/wallets.ts'
import { createWallet } from '../../src/signing/wallets/create.ts'
import { onlySignature } from '../../src/vault/contract/contract.ts'
import type { Credentials } from '../../src/vault/contract/required-credentials.ts'
import type { Vault } from '../../src/vault/contract/vault.ts'
import { runCli, startCli } from '../support/cli.ts'
import { withKey } from '../support/keys.ts'
import { isLong } from '../support/long.ts'
import { startService } from '../support/service.ts'
import { afterTests, shared } from '../support/shared.ts'
import { startVault, startVaultProcess } from '../support/vault.ts'
import { EVM_PAYLOAD } from '../vault/support.ts'

const DEVELOPER_WALLETS = isLong ? 960 : 140
const USER_WALLETS = isLong ? 40 : 20
/** A seed and a lock for each wallet, a key for each user, and three rows of the project itself. */
const ROWS = DEVELOPER_WALLETS * 2 + USER_WALLETS * 3 + 3
const OTHER_PROJECTS = isLong ? 400 : 200
/** The commands work in batches, and print a line after each one. */
const ROWS_A_LINE = 100
const AT_ONCE = 8
const KILLS = isLong ? 6 : 2
const SIGN_EVERY_MS = 20
const SECRET = 'testnet-secret'
const PIN = '493817'
const payload = EVM_PAYLOAD

/** Numbers from 0 to 1, the same in every run (mulberry32). */
const seeded = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let value = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value
  return ((value ^ (value >>> 14)) >>> 0) / 4294967296
}

const inTurns = async <Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> => {
  const results: Result[] = []
  for (let start = 0; start < items.length; start += AT_ONCE) {
    results.push(...(await Promise.all(items.slice(start, start + AT_ONCE).map(work))))
  }
  return results
}

const credentialsOf = (wallet: WalletRow) =>
  wallet.controlMode === 'user' ? { userPin: PIN } : { developerSecret: SECRET }

const signatureOf = (vault: Vault, wallet: WalletRow, credentials: Credentials): Promise<string> =>
  withKey(vault, { wallet, credentials, actor: 'operator' }, async (key) => {
    const signatures = await key.sign({ action: 'message_signed', details: {}, payloads: [payload] })
    return Buffer.from(onlySignature(signatures)).toString('hex')
  })

/** The visible identity of a wallet: its address, and a signature. */
const faceOf =
  ({ vault }: { readonly vault: Vault }) =>
  async (wallet: WalletRow): Promise<string> => {
    const signature = await signatureOf(vault, wallet, credentialsOf(wallet))
    const [row] = await sql<{ address: string }[]>`select address from wallets where id = ${wallet.id}`
    return `${row?.address} ${signature}`
  }

const run = (args: readonly string[], variables = service.variables) => runCli(['keys', ...args], variables)

/** A vault's variables, with another socket. */
const vaultVariables = (name: string, changes: Record<string, string> = {}): Record<string, string> => ({
  ...service.vaultVariables,
  VAULT_SOCKET: `${service.variables.VAULT_SOCKET}.${name}`,
  ...changes,
})

/** The command at a vault with both root keys. */
const runWithBoth = async (args: readonly string[]) => {
  const both = vaultVariables('both', { ROOT_KEY_NEXT: `file:${newRootKey}` })
  const vault = await startVault(both)
  try {
    return await run(args, { ...service.variables, VAULT_SOCKET: both.VAULT_SOCKET ?? '' })
  } finally {
    await vault.close()
  }
}

/**
 * Kills a command's vault with SIGKILL a while after the command has printed some lines.
 * @returns whether the command was still running.
 */
const killed = async (args: readonly string[], when: { readonly lines: number; readonly delayMs: number }) => {
  const mortal = vaultVariables('mortal', { ROOT_KEY_NEXT: `file:${newRootKey}` })
  const vault = await startVaultProcess(mortal)
  const child = startCli(['keys', ...args], { ...service.variables, VAULT_SOCKET: mortal.VAULT_SOCKET ?? '' })
  let lines = 0
  const reading = (async () => {
    for await (const chunk of child.stderr) {
      lines += Buffer.from(chunk).toString().split('\n').length - 1
      if (lines >= when.lines) return
    }
  })()
  if (when.lines > 0) await reading
  await sleep(when.delayMs)
  const ran = child.exitCode === null
  await vault.kill()
  await child.exited
  return ran
}

/**
 * Signs over HTTP until it is stopped. `stop` waits for so many answers, and gives those that differ from the expected
 * one.
 */
const signMeanwhile = async () => {
  const [one, other] = [wallets[0], wallets.at(-1)]
  if (one === undefined || other === undefined) throw new Error('there are no wallets')
  const sign = (wallet: WalletRow) =>
    service.post('/transactions/sign', {
      network: wallet.network,
      signer_wallet_address: wallet.address,
      ...(wallet.controlMode === 'user' ? { user_pin: PIN } : { developer_secret: SECRET }),
      unsigned_transaction: {
        to: '0x000000000000000000000000000000000000dEaD',
        value: '1',
        nonce: '0',
        gasLimit: '21000',
        maxFeePerGas: '1000000000',
        maxPriorityFeePerGas: '1000000000',
      },
    })
  const expected = new Map([
    [one, (await sign(one)).text],
    [other, (await sign(other)).text],
  ])
  for (const text of expected.values()) expect(text).toMatch(/^"0x02/)
  let answersMin = Number.POSITIVE_INFINITY
  const strange: string[] = []
  let answers = 0
  const loops = [one, other].map(async (wallet) => {
    while (answers < answersMin) {
      const answer = await sign(wallet)
      answers += 1
      if (answer.status !== 200 || answer.text !== expected.get(wallet)) strange.push(answer.text)
      await sleep(SIGN_EVERY_MS)
    }
  })
  return {
    stop: async (answersAtLeast: number) => {
      answersMin = answersAtLeast
      await Promise.all(loops)
      return strange
    },
  }
}

const makeProject = async () => {
  const projectId = randomUUID()
  await insertProject(service.ctx.db, { id: projectId, name: 'One of many', activatedAt: new Date() })
  await service.ctx.vault.newProject({ projectId, developerSecret: null, actor: 'operator' })
}

const service = await shared(startService({ rpcUrls: { Ethereum: 'http://127.0.0.1:1' } }))
const { sql } = service.database
const newRootKey = join(tmpdir(), `strongroom-rotation-${process.pid}.key`)
await writeFile(newRootKey, new Uint8Array(32).fill(0x91), { mode: 0o600 })
const modes = [...Array(DEVELOPER_WALLETS).fill('developer'), ...Array(USER_WALLETS).fill('user')] as (
  | 'developer'
  | 'user'
)[]
const wallets = await inTurns(modes, (controlMode) =>
  createWallet(service.ctx, {
    projectId: service.project.projectId,
    actor: 'operator',
    network: 'Ethereum',
    name: 'One of many',
    ownerId: randomUUID(),
    controlMode,
    type: 'eoa',
    credentials: controlMode === 'user' ? { userPin: PIN } : { developerSecret: SECRET },
  }),
)
const before = await inTurns(wallets, faceOf(service.ctx))
afterTests(async () => {
  await rm(newRootKey, { force: true })
})

const someOf = <Item>(items: readonly Item[]): readonly Item[] => items.filter((_item, index) => index % 97 === 0)

/** The key versions with which the project's rows are encrypted. */
const versions = async (): Promise<readonly number[]> => {
  const rows = await sql<{ version: number }[]>`
    select distinct get_byte(sealed, 5) as version from (
      select sealed from developer_keys where project_id = ${service.project.projectId}
      union all select sealed from user_keys
      union all select sealed from keyrings where project_id = ${service.project.projectId}
      union all select l.sealed from owner_locks l join keyrings k on k.id = l.keyring_id
        where k.project_id = ${service.project.projectId}
    ) s order by 1`
  return rows.map((row) => row.version)
}

test('the wallets all differ', () => {
  expect(new Set(before).size).toBe(DEVELOPER_WALLETS + USER_WALLETS)
})

describe('keys rotate-project', () => {
  test('leaves every wallet unchanged when it is killed many times, and then finishes', async () => {
    const random = seeded(20_250_102)
    const meanwhile = await signMeanwhile()
    let ranStill = 0
    const mixed: number[] = []
    for (let kill = 0; kill < KILLS; kill += 1) {
      const lines = Math.floor((random() * ROWS) / ROWS_A_LINE)
      const delayMs = random() * (lines === 0 ? 400 : 5)
      const args = ['rotate-project', service.project.projectId, ...(kill % 3 === 2 ? ['--resume'] : [])]
      if (await killed(args, { lines, delayMs })) ranStill += 1
      mixed.push((await versions()).length)
      expect(await inTurns(someOf(wallets), faceOf(service.ctx))).toEqual([...someOf(before)])
    }
    // The kills came in the middle of the work, not before or after it.
    expect(ranStill).toBeGreaterThan(KILLS / 2)
    expect(Math.max(...mixed)).toBeGreaterThan(1)

    const resumed = await run(['rotate-project', service.project.projectId, '--resume'])
    expect(resumed.exitCode).toBe(0)
    expect(await versions()).toHaveLength(1)
    const last = await run(['rotate-project', service.project.projectId])
    expect({ exitCode: last.exitCode, output: last.output }).toEqual({
      exitCode: 0,
      output: `project ${service.project.projectId}: version ${(await versions())[0]}, ${ROWS} rows re-sealed\n`,
    })
    expect(last.errors.trim().split('\n').at(-1)).toBe(
      `project ${service.project.projectId}, rows re-sealed: ${ROWS} of ${ROWS}`,
    )
    expect(await meanwhile.stop(100)).toEqual([])
    expect(await inTurns(wallets, faceOf(service.ctx))).toEqual([...before])
  }, 240_000)

  test('refuses and loses no new wallet and no PIN change during the rotation', async () => {
    const { projectId } = service.project
    let running = true
    const users = wallets.filter(({ controlMode }) => controlMode === 'user').slice(0, 3)
    const pins = new Map(users.map((wallet) => [wallet, PIN]))
    const made: { address: string }[] = []
    const refused: string[] = []
    const post = async (path: string, body: unknown) => {
      const answer = await service.post(path, body)
      if (answer.status !== 200) refused.push(answer.text)
      return answer.json
    }
    const creating = Array.from({ length: 2 }, async () => {
      while (running) {
        const body = { network: 'Ethereum', name: 'w', control_mode: 'developer', developer_secret: SECRET }
        made.push(await post('/wallets', body))
      }
    })
    const changing = users.map(async (wallet, index) => {
      for (let round = 0; running; round += 1) {
        const next = String(841_500 + index * 10_000 + (round % 300))
        await post('/wallets/change-user-pin', {
          network: wallet.network,
          address: wallet.address,
          old_user_pin: pins.get(wallet),
          new_user_pin: next,
        })
        pins.set(wallet, next)
      }
    })
    // On a quiet machine three rotations can be faster than that many wallets.
    for (let count = 0; count < 3 || (made.length <= 20 && count < 30); count += 1) {
      expect((await run(['rotate-project', projectId])).exitCode).toBe(0)
    }
    running = false
    await Promise.all([...creating, ...changing])
    expect(refused).toEqual([])
    expect(made.length).toBeGreaterThan(20)
    expect(await versions()).toHaveLength(1)
    for (const [wallet, pin] of pins) {
      const signature = await signatureOf(service.ctx.vault, wallet, { userPin: pin })
      expect(before[wallets.indexOf(wallet)]).toEndWith(` ${signature}`)
      await service.ctx.vault.changeUserPin({ wallet, oldPin: pin, newPin: PIN, actor: 'operator' })
    }
    const addresses = made.map(({ address }) => address)
    const rows = await sql<WalletRow[]>`select id, project_id as "projectId", owner_id as "ownerId", network,
      keyring_id as "keyringId", control_mode as "controlMode", type, public_key as "publicKey", address
      from wallets where address = any(${addresses})`
    expect(rows).toHaveLength(made.length)
    expect(new Set(await inTurns(rows, faceOf(service.ctx))).size).toBe(made.length)
  }, 180_000)

  test('--all rotates every project; naming neither or both is refused', async () => {
    await makeProject()
    const { exitCode, output } = await run(['rotate-project', '--all'])
    expect(exitCode).toBe(0)
    expect(output.trim().split('\n')).toHaveLength(2)
    for (const args of [['rotate-project'], ['rotate-project', service.project.projectId, '--all']]) {
      const refused = await run(args)
      expect(refused).toEqual({ exitCode: 2, output: '', errors: 'error: name one project, or give --all\n' })
    }
    expect((await run(['rotate-project', randomUUID()])).errors).toBe('There is no such project.\n')
  })
})

describe('keys rotate-root', () => {
  const rotate = () => ['rotate-root', '--yes']

  /** The database's root key, and the root keys that wrapped project keys. */
  const belongsTo = async () => {
    const [row] = await sql<{ id: string }[]>`select root_key_id as id from deployment`
    const keys = await sql<{ id: string }[]>`select distinct root_key_id as id from project_keys`
    return { deployment: row?.id ?? '', keys: keys.map((key) => key.id) }
  }

  test('changes all or nothing when it is killed, and then finishes', async () => {
    await inTurns(Array.from({ length: OTHER_PROJECTS }), makeProject)
    const from = (await belongsTo()).deployment
    const random = seeded(20_250_103)
    const meanwhile = await signMeanwhile()
    // Its transaction waits for the last row, so that kills hit it too.
    const killedAtLastRow = (when: Parameters<typeof killed>[1]) =>
      sql.begin(async (holding) => {
        await holding`select from project_keys order by project_id desc limit 1 for update`
        return killed(rotate(), when)
      })
    let ranStill = 0
    for (let kill = 0; kill < KILLS; kill += 1) {
      const lines = kill === 0 ? 0 : 1 + Math.floor((random() * OTHER_PROJECTS) / ROWS_A_LINE)
      if (await killedAtLastRow({ lines, delayMs: random() * (lines === 0 ? 300 : 400) })) ranStill += 1
      expect(await belongsTo()).toEqual({ deployment: from, keys: [from] })
      expect(await inTurns(someOf(wallets), faceOf(service.ctx))).toEqual([...someOf(before)])
    }
    expect(ranStill).toBe(KILLS)

    const prepared = await startVault(vaultVariables('prepared', { ROOT_KEY_NEXT: `file:${newRootKey}` }))
    const done = await runWithBoth(rotate())
    const to = (await belongsTo()).deployment
    expect(done).toMatchObject({ exitCode: 0 })
    expect(done.output).toContain(`The database belongs to ${to} now;`)
    expect(to).not.toBe(from)
    expect(await belongsTo()).toEqual({ deployment: to, keys: [to] })
    const again = await runWithBoth(rotate())
    expect(again).toEqual({
      exitCode: 0,
      output: `The database already belongs to ${to}: nothing was done.\n`,
      // Those that were killed a moment ago still count.
      errors: expect.stringMatching(/^\d+ vault processes running, 0 without the next root key\.\n$/),
    })

    // A process with both keys goes on with a project that it has not used before.
    expect(await inTurns(someOf(wallets), faceOf(prepared))).toEqual([...someOf(before)])
    await prepared.close()
    // A process with the old key goes on with the project that it uses; one with the new key opens everything.
    expect(await meanwhile.stop(50)).toEqual([])
    const renewed = await startVault(vaultVariables('renewed', { ROOT_KEY: `file:${newRootKey}` }))
    expect(await inTurns(wallets, faceOf(renewed))).toEqual([...before])
    await renewed.close()
    await expect(startVault(vaultVariables('old'))).rejects.toThrow(`it is ${from}, and should be ${to}`)
  }, 240_000)

  test('needs a vault that has the current key and the next one, which must differ from all other keys', async () => {
    const only = vaultVariables('only', { ROOT_KEY: `file:${newRootKey}` })
    const vault = await startVault(only)
    for (const [VAULT_SOCKET, sentence] of [
      [service.variables.VAULT_SOCKET ?? '', 'the vault must be restarted with the present one as ROOT_KEY'],
      [only.VAULT_SOCKET ?? '', 'The vault has no next root key: restart it with ROOT_KEY_NEXT'],
    ] as const) {
      const refused = await run(rotate(), { ...service.variables, VAULT_SOCKET })
      expect(refused).toMatchObject({ exitCode: 1, output: '' })
      expect(refused.errors).toContain(sentence)
    }
    await vault.close()
    for (const [next, sentence] of [
      ['6d61726b6d61726b6d61726b6d61726b', 'must begin with file:'],
      ['file:/nowhere/at/all', 'cannot be opened'],
      [service.variables.SERVICE_KEY ?? '', 'two different keys'],
    ] as const) {
      const starting = startVault(vaultVariables('refused', { ROOT_KEY: `file:${newRootKey}`, ROOT_KEY_NEXT: next }))
      await expect(starting).rejects.toThrow(sentence)
      await expect(starting).rejects.not.toThrow('6d61726b')
    }
  })
})
