// The operator's commands for a mainnet project; secrets come from standard input.

import { describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { addOrigins, addReturnAddresses, removeOrigins } from '../../src/identity/projects/settings.ts'
import { createProject } from '../../src/operators/projects.ts'
import { SUBSTRATE_NETWORKS } from '../../src/platform/networks.ts'
import { runCli, startCli } from '../support/cli.ts'
import { holdTable, untilWaiting } from '../support/locks.ts'
import { longTest, someOf } from '../support/long.ts'
import { startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'
import { sealProjects } from '../users/own-rows.ts'

const NOWHERE = 'http://127.0.0.1:1'
const SECRET = 'correct horse battery staple'
const NEXT = 'another secret of this project'
const PIN = '493817'

const service = await shared(
  startService({
    rpcUrls: { Ethereum: NOWHERE, Base: NOWHERE },
    variables: {
      ...{ ENVIRONMENT: 'mainnet', DEVNET: 'false', PUBLIC_BASE_URL: 'https://custody.example.com' },
      RATE_LIMIT_PER_SECOND: '100000',
    },
  }),
)
const { sql } = service.database

const run = async (args: readonly string[], input: string | Uint8Array, variables = service.variables) => {
  const done = await runCli(['project', ...args], variables, input)
  for (const secret of [SECRET, NEXT, 'fifteen letters']) expect(done.output + done.errors).not.toContain(secret)
  return done
}

const newProject = async () => {
  const project = await createProject(service.ctx, { name: 'Mainnet', actor: 'operator' })
  return { ...project, ...service.as(project) }
}
type Project = Awaited<ReturnType<typeof newProject>>

const activate = ({ projectId }: Project, input = `${SECRET}\n`) => run(['activate', projectId], input)
const changeSecret = ({ projectId }: Project, input = `${SECRET}\n${NEXT}\n`) =>
  run(['change-developer-secret', projectId], input)

const create = ({ post }: Project, body: Record<string, unknown>) =>
  post('/wallets', { network: 'Ethereum', name: 'W', owner_id: randomUUID(), ...body })
const developer = (developer_secret: string) => ({ control_mode: 'developer', developer_secret })
const user = { control_mode: 'user', user_pin: PIN }

const rows = async ({ projectId }: Project) => {
  const [row] = await sql`select (select count(*)::int from developer_keys where project_id = ${projectId}) as keys,
    (select count(*)::int from wallets where project_id = ${projectId}) as wallets,
    (select count(*)::int from audit where project_id = ${projectId} and action = 'project_activated') as audited,
    (select activated_at is not null from projects where id = ${projectId}) as active`
  return { ...row }
}
const NOTHING = { keys: 0, wallets: 0, audited: 0, active: false }

describe('a mainnet project before its activation', () => {
  test('cannot create, import or mint: 403 project_not_activated', async () => {
    const project = await newProject()
    const private_key = '1'.padStart(64, '0')
    const from = { network: 'Ethereum', contract_address: `0x${'1'.repeat(40)}`, uri: 'ipfs://x' }
    const answers = [
      await create(project, developer(SECRET)),
      await create(project, developer('testnet-secret')),
      await create(project, user),
      await project.post('/wallets/import', { network: 'Base', name: 'I', private_key, ...user }),
      await project.post('/nfts/mint', { ...from, developer_secret: SECRET }),
    ]
    for (const { status, json } of answers) expect([status, json.code]).toEqual([403, 'project_not_activated'])
    expect(await rows(project)).toEqual(NOTHING)
  })
})

/** Kills a process that waits for a lock, on both sides of its connection: its statement is not executed after all. */
const killedWaiting = async (child: ReturnType<typeof startCli>) => {
  await untilWaiting(sql)
  child.kill('SIGKILL')
  await child.exited
  await sql`select pg_terminate_backend(pid) from pg_stat_activity
    where wait_event_type = 'Lock' and datname = current_database()`
}

describe('project create', () => {
  longTest('leaves a project without an API key if it is killed after the vault had done its part', async () => {
    await using release = await holdTable(sql, 'api_keys')
    await killedWaiting(startCli(['project', 'create', '--name', 'Half made'], service.variables))
    await release()
    const [made] =
      await sql`select p.id, p.activated_at, (select count(*)::int from project_keys k where k.project_id = p.id) as keys,
      (select count(*)::int from api_keys k where k.project_id = p.id) as "apiKeys" from projects p where name = 'Half made'`
    expect(made).toMatchObject({ activated_at: null, keys: 1, apiKeys: 0 })
    const { exitCode, output } = await runCli(['audit', 'verify', '--json'], service.variables)
    expect([exitCode, JSON.parse(output).ok]).toEqual([0, true])
    expect((await run(['create', '--name', 'Half made'], '')).exitCode).toBe(0)
  })
})

describe('project activate', () => {
  test('reads the secret from standard input, creates the project wallets, and works once', async () => {
    const project = await newProject()
    expect(await activate(project)).toMatchObject({ exitCode: 0, errors: '' })
    const networks = ['Ethereum', 'Base', ...SUBSTRATE_NETWORKS]
    expect(await rows(project)).toEqual({ keys: 1, wallets: networks.length, audited: 1, active: true })
    for (const network of networks) {
      const found = await project.get('/wallets/get-by-owner-id', { network, ownerID: project.projectId })
      expect(found.status).toBe(200)
    }
    expect((await create(project, developer(SECRET))).status).toBe(200)
    expect((await create(project, user)).status).toBe(200)
    expect((await create(project, developer('testnet-secret'))).json.code).toBe('INVALID_SECRET')
    const [act] = await sql`select actor, details from audit
      where project_id = ${project.projectId} and action = 'project_activated'`
    expect({ ...act }).toEqual({ actor: 'operator', details: {} })

    const again = await activate(project, `${NEXT}\n`)
    expect(again.exitCode).toBe(1)
    expect(again.errors).toContain('change-developer-secret')
    expect((await create(project, developer(SECRET))).status).toBe(200)
  })

  longTest('reads the secret exactly: spaces count, the line end does not', async () => {
    const project = await newProject()
    expect((await activate(project, ` ${SECRET} \r\n`)).exitCode).toBe(0)
    expect((await create(project, developer(SECRET))).json.code).toBe('INVALID_SECRET')
    expect((await create(project, developer(` ${SECRET} `))).status).toBe(200)
  })

  const INVALID: readonly (readonly [string, string | Uint8Array])[] = [
    ['nothing', ''],
    ['fifteen characters', 'fifteen letters'],
    ['the constant of testnet', 'testnet-secret'],
    ['the constant of testnet, made longer', 'testnet-secret-of-mine'],
    ['257 characters', 'a'.repeat(257)],
    ['two lines', `${SECRET}\n${SECRET}\n`],
    ['a control character', `${SECRET}\t`],
    ['bytes that are no UTF-8', new Uint8Array([0xff, ...Buffer.from(SECRET)])],
    ['a flood', 'a'.repeat(10_000)],
  ]

  test.each(someOf(INVALID, 2))('refuses %s', async (_what, input) => {
    const project = await newProject()
    const { exitCode, output, errors } = await run(['activate', project.projectId], input)
    expect([exitCode, output]).toEqual([1, ''])
    expect(errors).toMatch(/^[A-Z].*\.\n$/)
    expect(await rows(project)).toEqual(NOTHING)
  })

  test('accepts no secret on the command line', async () => {
    const project = await newProject()
    const refused = await run(['activate', project.projectId, 'a secret on the line'], '')
    expect(refused.exitCode).toBe(2)
    expect(await rows(project)).toEqual(NOTHING)
  })

  test('succeeds for only one of two simultaneous runs', async () => {
    const project = await newProject()
    const vault = service.ctx.vault
    const input = { projectId: project.projectId, actor: 'operator' }
    const both = [SECRET, NEXT].map((developerSecret) => vault.activateProject({ ...input, developerSecret }))
    expect((await Promise.allSettled(both)).map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect((await rows(project)).audited).toBe(1)
  })

  longTest('is finished by the same command if it was killed after the vault had done its part', async () => {
    const project = await newProject()
    const { projectId } = project
    await sql.begin(async (tx) => {
      await tx`select from projects where id = ${projectId} for no key update`
      await killedWaiting(startCli(['project', 'activate', projectId], service.variables, SECRET))
    })
    expect(await rows(project)).toEqual({ keys: 1, wallets: 0, audited: 1, active: false })
    expect((await activate(project, `${NEXT}\n`)).errors).toContain('change-developer-secret')
    expect(await activate(project)).toMatchObject({ exitCode: 0, errors: '' })
    const whole = await rows(project)
    expect(whole).toEqual({ keys: 1, wallets: 2 + SUBSTRATE_NETWORKS.length, audited: 1, active: true })
    expect(await activate(project)).toMatchObject({ exitCode: 0, errors: '' })
    expect(await rows(project)).toEqual(whole)
  })

  test('refuses an unknown project and a malformed id', async () => {
    expect((await run(['activate', randomUUID()], SECRET)).errors).toBe('There is no such project.\n')
    expect((await run(['activate', 'mine'], SECRET)).errors).toContain('It must be a UUID.')
  })

  longTest('seals under the id as the database spells it, even if the id is given in capitals', async () => {
    const project = await newProject()
    expect((await run(['activate', project.projectId.toUpperCase()], SECRET)).exitCode).toBe(0)
    expect((await create(project, developer(SECRET))).status).toBe(200)
  })
})

describe('project change-developer-secret', () => {
  const REFUSED = [
    ['a wrong old one', `not the secret at all\n${NEXT}\n`],
    ['one line', `${SECRET}\n`],
    ['three lines', `${SECRET}\n${NEXT}\n${NEXT}\n`],
    ['a short new one', `${SECRET}\nfifteen letters\n`],
    ['the constant of testnet', `${SECRET}\ntestnet-secret\n`],
  ] as const

  let active: Project | undefined
  /** No refusal changes it; the last test gives it another secret. */
  const activated = async () => {
    if (active !== undefined) return active
    active = await newProject()
    await activate(active)
    return active
  }

  test.each(someOf(REFUSED, 3))('refuses %s', async (_what, input) => {
    const project = await activated()
    const { exitCode, output } = await changeSecret(project, input)
    expect([exitCode, output]).toEqual([1, ''])
    expect((await create(project, developer(SECRET))).status).toBe(200)
  })

  test('replaces the old secret by the new one, rewraps one row, and keeps the wallets', async () => {
    const project = await activated()
    const wallet = (await create(project, developer(SECRET))).json
    const phrase = async (developer_secret: string) =>
      (await project.post('/wallets/export', { network: 'Ethereum', address: wallet.address, developer_secret })).json
    const before = await phrase(SECRET)
    expect(await changeSecret(project)).toMatchObject({ exitCode: 0, errors: '' })
    expect(await phrase(NEXT)).toEqual(before)
    expect(await phrase(SECRET)).toMatchObject({ code: 'INVALID_SECRET' })
    const [row] = await sql`select version from developer_keys where project_id = ${project.projectId}`
    expect(row?.version).toBe(2)
  })

  test('refuses a project that is not active', async () => {
    const project = await newProject()
    expect((await changeSecret(project)).errors).toContain('must be activated first')
  })
})

describe('project passkey-domain', () => {
  longTest('accepts only the host of an allowed origin or a parent domain of it', async () => {
    const { projectId } = await newProject()
    const plain = await run(['origins', 'add', projectId, 'https://a.example.com', 'http://app.example.com'], '')
    expect(plain).toEqual({ exitCode: 1, output: '', errors: 'On mainnet each origin must begin with https://.\n' })
    // As an earlier version stored it.
    await sql`update projects set allowed_origins = '{http://app.example.org}' where id = ${projectId}`
    await sealProjects(service, sql)
    expect((await run(['passkey-domain', projectId, 'example.org'], '')).exitCode).toBe(1)
    await addOrigins(service.ctx, { projectId, origins: ['https://app.example.com'] })
    await removeOrigins(service.ctx, { projectId, origins: ['http://app.example.org'] })
    expect(await run(['passkey-domain', projectId, 'example.com'], '')).toMatchObject({ exitCode: 0, errors: '' })
    const refused = await run(['passkey-domain', projectId, 'example.org'], '')
    expect([refused.exitCode, refused.output]).toEqual([1, ''])
    expect(refused.errors).toStartWith('The passkey domain must be the host of an allowed origin')
    const [row] = await sql`select passkey_rp_id as of from projects where id = ${projectId}`
    expect(row?.of).toBe('example.com')
  })
})

describe('project return-addresses', () => {
  const APP = 'https://app.example.com'
  const AFTER = `${APP}/after`
  const done = (output: string) => ({ exitCode: 0, output, errors: '' })

  const loginPage = async ({ projectId, call }: Project, redirect_uri: string) => {
    const bound = { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' }
    const query = new URLSearchParams({ project_id: projectId, redirect_uri, ...bound })
    const { status, text } = await call(`/login?${query}`, { headers: { authorization: undefined } })
    return { status, says: /For its developers: ([^<]*)/.exec(text)?.[1] }
  }

  test('lists, adds and removes the addresses to which the login page sends users back', async () => {
    const project = await newProject()
    const { projectId } = project
    // The commands open no wallet.
    const addresses = (...args: readonly string[]) =>
      run(['return-addresses', ...args], '', { ...service.variables, VAULT_SOCKET: '' })
    await addOrigins(service.ctx, { projectId, origins: [APP] })
    const refused = await loginPage(project, AFTER)
    expect(refused.status).toBe(400)
    expect(refused.says).toContain(`bun run cli project return-addresses add ${projectId} `)

    expect(await addresses('list', projectId)).toEqual(done('The project has no return addresses.\n'))
    expect(await addresses('add', projectId, AFTER)).toEqual(done(`Listed now:\n${AFTER}\n`))
    expect(await loginPage(project, AFTER)).toMatchObject({ status: 200 })
    expect(await loginPage(project, `${AFTER}/`)).toMatchObject({ status: 400 })
    expect(await addresses('add', projectId, `${APP}/`, AFTER)).toEqual(done(`Listed now:\n${AFTER}\n${APP}/\n`))
    expect(await addresses('list', projectId, '--json')).toEqual(done(`${JSON.stringify([AFTER, `${APP}/`])}\n`))
    expect((await run(['show', projectId], '')).output).toContain(`returns to:      ${AFTER}, ${APP}/\n`)
    expect(await addresses('remove', projectId, AFTER)).toEqual(done(`Listed now:\n${APP}/\n`))
    expect(await addresses('remove', projectId, AFTER)).toEqual({
      exitCode: 1,
      output: '',
      errors: `The project does not allow ${AFTER}: nothing was changed.\n`,
    })
    const acts = await sql`select actor, details from audit
      where project_id = ${projectId} and action = 'return_addresses_changed' order by id`
    expect([...acts]).toEqual([
      { actor: 'operator', details: { addresses: AFTER, before: '' } },
      { actor: 'operator', details: { addresses: `${AFTER} ${APP}/`, before: AFTER } },
      { actor: 'operator', details: { addresses: `${APP}/`, before: `${AFTER} ${APP}/` } },
    ])
    const events =
      await sql`select data from events where project_id = ${projectId} and type = 'project.changed' order by id`
    expect(events.map(({ data }) => data.setting)).toEqual(['allowed_origins', ...Array(3).fill('return_addresses')])
  })

  test('refuses what is no whole address, and more than twenty', async () => {
    const { projectId } = await newProject()
    const path = await run(['return-addresses', 'add', projectId, AFTER, 'http://app.example.com/after'], '')
    expect([path.exitCode, path.output]).toEqual([1, ''])
    expect(path.errors).toContain('must be a whole URL as browsers write it')
    const add = (addresses: readonly string[]) => addReturnAddresses(service.ctx, { projectId, addresses })
    const twenty = Array.from({ length: 20 }, (_, index) => `${APP}/${index}`)
    expect(await add(twenty)).toEqual(twenty)
    await expect(add([AFTER])).rejects.toMatchObject({ code: 'invalid_input' })
    expect(await add([`${APP}/0`])).toEqual(twenty)
  })
})

describe('project delegates', () => {
  const DELEGATE = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
  const lower = DELEGATE.toLowerCase()
  const done = (output: string) => ({ exitCode: 0, output, errors: '' })

  test('lists, adds and removes the contracts to which wallets may delegate', async () => {
    const { projectId } = await newProject()
    const delegates = (...args: readonly string[]) => run(['delegates', ...args], '')
    expect(await delegates('list', projectId)).toEqual(done('The project allows no delegate.\n'))
    const first = await delegates('add', projectId, 'Ethereum', DELEGATE)
    expect(first).toEqual(done(`Allowed now:\nEthereum  ${lower}\n`))
    const second = await delegates('add', projectId, 'Base', lower)
    expect(second).toEqual(done(`Allowed now:\nBase  ${lower}\nEthereum  ${lower}\n`))
    expect(await delegates('list', projectId)).toEqual(done(`Base  ${lower}\nEthereum  ${lower}\n`))
    const removed = await delegates('remove', projectId, 'Base', DELEGATE)
    expect(removed).toEqual(done(`Allowed now:\nEthereum  ${lower}\n`))
    const asJson = JSON.stringify([{ network: 'Ethereum', address: lower }])
    expect(await delegates('list', projectId, '--json')).toEqual(done(`${asJson}\n`))
    const rows = await sql`select actor from audit where project_id = ${projectId} and action = 'delegates_changed'`
    expect(rows.map(({ actor }) => actor)).toEqual(Array(3).fill('operator'))
  })

  test.each([
    ['a network where no account can delegate', 2, ['Polkadot', DELEGATE], 'must be one of'],
    ['an address with a wrong checksum', 1, ['Ethereum', DELEGATE.replace('aA', 'Aa')], 'wrong checksum'],
    ['the zero address', 1, ['Ethereum', `0x${'0'.repeat(40)}`], 'must be the address of a contract'],
  ])('refuses %s', async (_what, exitCode, args, sentence) => {
    const { projectId } = await newProject()
    const refused = await run(['delegates', 'add', projectId, ...args], '')
    expect([refused.exitCode, refused.output]).toEqual([exitCode, ''])
    expect(refused.errors).toContain(sentence)
    expect((await run(['delegates', 'remove', projectId, ...args], '')).exitCode).toBe(exitCode)
  })

  test('refuses to remove what is not allowed, and an unknown project', async () => {
    const { projectId } = await newProject()
    const none = await run(['delegates', 'remove', projectId, 'Ethereum', DELEGATE], '')
    expect([none.exitCode, none.errors]).toEqual([
      1,
      'The project does not allow this delegate: nothing was changed.\n',
    ])
    const unknown = await run(['delegates', 'add', randomUUID(), 'Ethereum', DELEGATE], '')
    expect([unknown.exitCode, unknown.errors]).toEqual([1, 'There is no such project.\n'])
  })
})

describe('project anonymous-login', () => {
  const login = async ({ projectId, post }: Project) => {
    const headers = { authorization: undefined, 'x-walletkit-project-id': projectId }
    const { status, json } = await post('/users/login-anonymously', {}, headers)
    return { told: [status, json.code ?? 'done'], token: json.access_token }
  }
  const OFF = [403, 'anonymous_login_off']
  const usersOf = async ({ projectId }: Project) =>
    (await sql`select count(*)::int as count from users where project_id = ${projectId}`)[0]?.count

  test('turns anonymous login on and off; it is off on mainnet by default, and existing users stay logged in', async () => {
    const project = await newProject()
    expect((await login(project)).told).toEqual(OFF)
    expect(await usersOf(project)).toBe(0)
    // The command opens no wallet.
    const variables = { ...service.variables, VAULT_SOCKET: '' }
    const on = await run(['anonymous-login', project.projectId, 'on'], '', variables)
    expect(on).toEqual({
      exitCode: 0,
      output: 'Anonymous login is on now. Users who logged in with it keep their sessions.\n',
      errors: '',
    })
    const { told, token } = await login(project)
    expect(told).toEqual([200, 'done'])
    expect((await run(['anonymous-login', project.projectId, 'off'], '', variables)).exitCode).toBe(0)
    expect((await login(project)).told).toEqual(OFF)
    const { status } = await project.call('/users/passkeys', { headers: { authorization: `Bearer ${token}` } })
    expect([status, await usersOf(project)]).toEqual([200, 1])
    const changes = await sql`select actor, details from audit
      where action = 'anonymous_login_changed' and project_id = ${project.projectId} order by id`
    expect([...changes]).toEqual([
      { actor: 'operator', details: { anonymous_login: 'on', before: 'off' } },
      { actor: 'operator', details: { anonymous_login: 'off', before: 'on' } },
    ])
  })

  test('refuses another word and an unknown project', async () => {
    const { projectId } = await newProject()
    const refused = [
      await run(['anonymous-login', projectId, 'yes'], ''),
      await run(['anonymous-login', projectId], ''),
      await run(['anonymous-login', randomUUID(), 'off'], ''),
    ]
    expect(refused.map(({ exitCode }) => exitCode)).toEqual([2, 2, 1])
    expect(refused[0]?.errors).toContain('It must be one of on, off.')
    expect(refused[2]?.errors).toBe('There is no such project.\n')
  })
})

describe('on testnet', () => {
  longTest(
    'there is nothing to activate or change, because the secret is a constant',
    async () => {
      const testnet = await startService({ rpcUrls: {} })
      const { projectId } = testnet.project
      const refusals = [
        await run(['activate', projectId], SECRET, testnet.variables),
        await run(['change-developer-secret', projectId], `testnet-secret\n${SECRET}\n`, testnet.variables),
      ]
      await testnet.close()
      expect(refusals.map(({ exitCode, errors }) => [exitCode, /testnet/.test(errors)])).toEqual(
        Array(2).fill([1, true]),
      )
    },
    20_000,
  )
})
