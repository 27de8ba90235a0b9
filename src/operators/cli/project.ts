import { Command } from 'commander'
import type { Network } from '../../../db/words.ts'
import {
  addOrigins,
  addReturnAddresses,
  removeOrigins,
  removeReturnAddresses,
  setAnonymousLogin,
  setPasskeyDomain,
} from '../../identity/projects/settings.ts'
import type { OperatorVault } from '../../vault/contract/vault.ts'
import { activateProject, createProject, listProjects, showProject } from '../projects.ts'
import { EVM_NETWORK_WORDS, evmNetworkIn, OPERATOR, oneOf, uuid } from './arguments.ts'
import { issuerCommands } from './issuers.ts'
import type { Shell } from './shell.ts'

const create = ({ print, printJson, withOperatorCtx }: Shell): Command =>
  new Command('create')
    .description('Create a project with a first API key. The key is shown once.')
    .requiredOption('--name <name>', 'the name of the project')
    .option('--json', 'print { project_id, api_key }')
    .action(({ name, json }: { name: string; json?: boolean }) =>
      withOperatorCtx(async (ctx) => {
        const { projectId, apiKey } = await createProject(ctx, { name, actor: OPERATOR })
        if (json) return printJson({ project_id: projectId, api_key: apiKey })
        print(`project id: ${projectId}`)
        print(`api key:    ${apiKey}`)
        print('Keep the key now: it is stored only as a hash and cannot be shown again.')
      }),
    )

const activate = ({ print, readSecrets, withOperatorCtx }: Shell): Command =>
  new Command('activate')
    .description("Set a mainnet project's developer secret, read from standard input, and create the project wallets.")
    .argument('<project-id>', 'the project', uuid)
    .action(async (projectId: string) => {
      const [developerSecret = ''] = await readSecrets(['developer secret'])
      await withOperatorCtx((ctx) => activateProject(ctx, { projectId, developerSecret, actor: OPERATOR }))
      print('The project is active. Keep the secret: nobody can recover it.')
    })

const changeDeveloperSecret = ({ print, readSecrets, withVault }: Shell): Command =>
  new Command('change-developer-secret')
    .description(
      'Change the developer secret of a mainnet project. Both are read from standard input, the old one first.',
    )
    .argument('<project-id>', 'the project', uuid)
    .action(async (projectId: string) => {
      const [oldSecret = '', newSecret = ''] = await readSecrets(['old developer secret', 'new developer secret'])
      await withVault((ctx) => ctx.vault.changeDeveloperSecret({ projectId, oldSecret, newSecret, actor: OPERATOR }))
      print('The developer secret is changed. The old one no longer works.')
    })

const list = ({ print, printJson, withReadingCtx }: Shell): Command =>
  new Command('list')
    .description('List the projects, oldest first.')
    .option('--json', 'print a JSON array')
    .action(({ json }: { json?: boolean }) =>
      withReadingCtx(async (ctx) => {
        const projects = await listProjects(ctx)
        if (json) return printJson(projects)
        for (const project of projects) print(`${project.id}  ${project.created_at}  ${project.name}`)
      }),
    )

const show = ({ print, printJson, withReadingCtx }: Shell): Command =>
  new Command('show')
    .description('Show a project and its settings.')
    .argument('<project-id>', 'the project', uuid)
    .option('--json', 'print a JSON object')
    .action((projectId: string, { json }: { json?: boolean }) =>
      withReadingCtx(async (ctx) => {
        const project = await showProject(ctx, { projectId })
        if (json) return printJson(project)
        print(`project id:      ${project.id}`)
        print(`name:            ${project.name}`)
        print(`created:         ${project.created_at}`)
        print(`activated:       ${project.activated_at ?? 'no'}`)
        print(`anonymous login: ${project.anonymous_login ? 'on' : 'off'}`)
        print(`origins:         ${project.allowed_origins.join(', ') || 'none'}`)
        print(`returns to:      ${project.return_addresses.join(', ') || 'no return addresses'}`)
        print(`passkey domain:  ${project.passkey_domain ?? 'the host of the calling page'}`)
      }),
    )

type ChangeList = (
  ctx: Parameters<typeof addOrigins>[0],
  input: Parameters<typeof addReturnAddresses>[1],
) => Promise<readonly string[]>

type ListSetting = {
  readonly name: string
  readonly description: string
  readonly key: 'allowed_origins' | 'return_addresses'
  readonly argument: readonly [name: string, description: string]
  /** What each of the three commands says about itself. */
  readonly list: string
  readonly add: readonly [description: string, change: ChangeList]
  readonly remove: readonly [description: string, change: ChangeList]
  readonly none: string
  readonly changed: (values: readonly string[]) => string
}

const ORIGINS: ListSetting = {
  name: 'origins',
  description: 'The web origins from which browsers may call for a project.',
  key: 'allowed_origins',
  argument: [
    '<origins...>',
    'for instance https://app.example.com, on mainnet only https; or android:apk-key-hash:… for passkeys of an app on Android',
  ],
  list: 'List the allowed origins.',
  add: ['Allow further origins.', (ctx, { projectId, addresses: origins }) => addOrigins(ctx, { projectId, origins })],
  remove: [
    'Allow origins no longer.',
    (ctx, { projectId, addresses: origins }) => removeOrigins(ctx, { projectId, origins }),
  ],
  none: 'No origin is allowed.',
  changed: (origins) => (origins.length === 0 ? 'No origin is allowed now.' : `Allowed now: ${origins.join(', ')}`),
}

const RETURN_ADDRESSES: ListSetting = {
  name: 'return-addresses',
  description: 'The addresses to which the login page and its siblings may send users of a project back.',
  key: 'return_addresses',
  argument: ['<addresses...>', 'for instance https://app.example.com/after; a redirect_uri must be equal to it'],
  list: 'List the return addresses.',
  add: ['List further addresses.', addReturnAddresses],
  remove: ['List addresses no longer.', removeReturnAddresses],
  none: 'The project has no return addresses.',
  changed: (addresses) =>
    addresses.length === 0 ? 'The project has no return addresses now.' : `Listed now:\n${addresses.join('\n')}`,
}

const listSettingCommands = (
  { print, printJson, withReadingCtx, withIdentityCtx }: Shell,
  setting: ListSetting,
): Command => {
  const command = new Command(setting.name).description(setting.description)
  command
    .command('list')
    .description(setting.list)
    .argument('<project-id>', 'the project', uuid)
    .option('--json', 'print a JSON array')
    .action((projectId: string, { json }: { json?: boolean }) =>
      withReadingCtx(async (ctx) => {
        const { [setting.key]: values } = await showProject(ctx, { projectId })
        if (json) return printJson(values)
        for (const value of values) print(value)
        if (values.length === 0) print(setting.none)
      }),
    )
  for (const name of ['add', 'remove'] as const) {
    const [description, change] = setting[name]
    command
      .command(name)
      .description(description)
      .argument('<project-id>', 'the project', uuid)
      .argument(...setting.argument)
      .action((projectId: string, addresses: readonly string[]) =>
        withIdentityCtx(async (ctx) => print(setting.changed(await change(ctx, { projectId, addresses })))),
      )
  }
  return command
}

type Delegates = Awaited<ReturnType<OperatorVault['listDelegates']>>

const printDelegates = ({ print }: Shell, delegates: Delegates): void => {
  for (const { network, address } of delegates) print(`${network}  ${address}`)
  if (delegates.length === 0) print('The project allows no delegate.')
}

const delegateCommands = (shell: Shell): Command => {
  const { print, printJson, variables, withVault, withOperatorCtx } = shell
  const command = new Command('delegates').description(
    'The contracts to which eoa wallets of a project may delegate (EIP-7702). The code of a delegate can do everything with such a wallet.',
  )
  command
    .command('list')
    .description('List the allowed contracts.')
    .argument('<project-id>', 'the project', uuid)
    .option('--json', 'print a JSON array')
    .action((projectId: string, { json }: { json?: boolean }) =>
      withVault(async (ctx) => {
        const delegates = await ctx.vault.listDelegates({ projectId })
        if (json) return printJson(delegates)
        printDelegates(shell, delegates)
      }),
    )
  for (const [change, description] of [
    ['add', 'Allow a contract, which you have read.'],
    ['remove', 'Allow a contract no longer. Wallets that have delegated to it stay so.'],
  ] as const) {
    command
      .command(change)
      .description(description)
      .argument('<project-id>', 'the project', uuid)
      .argument('<network>', EVM_NETWORK_WORDS, evmNetworkIn(variables))
      .argument('<address>', 'the contract')
      .action((projectId: string, network: Network, text: string) =>
        withOperatorCtx(async (ctx) => {
          const address = ctx.chains.of(network).parseAddress(text, 'address')
          const delegates = await ctx.vault.changeDelegates({ projectId, network, address, change, actor: OPERATOR })
          print('Allowed now:')
          printDelegates(shell, delegates)
        }),
      )
  }
  return command
}

const passkeyDomain = ({ print, withIdentityCtx }: Shell): Command =>
  new Command('passkey-domain')
    .description(
      "Set the domain of a project's passkeys (WebAuthn's RP ID): the host of an allowed origin, or a parent domain. It is not checked against the Public Suffix List; browsers refuse domains on it.",
    )
    .argument('<project-id>', 'the project', uuid)
    .argument('[domain]', 'for instance example.com; by default the host of the calling page')
    .action((projectId: string, domain?: string) =>
      withIdentityCtx(async (ctx) => {
        await setPasskeyDomain(ctx, { projectId, rpId: domain ?? null })
        print(
          `New passkeys belong to ${domain ?? 'the host of the calling page'}. Passkeys of other domains no longer work.`,
        )
      }),
    )

const anonymousLogin = ({ print, withIdentityCtx }: Shell): Command =>
  new Command('anonymous-login')
    .description(
      'Allow or forbid login without a proof of identity. By default it is on for testnet and off for mainnet.',
    )
    .argument('<project-id>', 'the project', uuid)
    .argument('<on|off>', 'whether anonymous login is allowed', oneOf(['on', 'off']))
    .action((projectId: string, anonymousLogin: 'on' | 'off') =>
      withIdentityCtx(async (ctx) => {
        await setAnonymousLogin(ctx, { projectId, anonymousLogin })
        print(`Anonymous login is ${anonymousLogin} now. Users who logged in with it keep their sessions.`)
      }),
    )

export const projectCommands = (shell: Shell): Command =>
  new Command('project')
    .description('Projects: developer accounts, the tenants of this service.')
    .addCommand(create(shell))
    .addCommand(activate(shell))
    .addCommand(changeDeveloperSecret(shell))
    .addCommand(list(shell))
    .addCommand(show(shell))
    .addCommand(listSettingCommands(shell, ORIGINS))
    .addCommand(listSettingCommands(shell, RETURN_ADDRESSES))
    .addCommand(delegateCommands(shell))
    .addCommand(issuerCommands(shell))
    .addCommand(passkeyDomain(shell))
    .addCommand(anonymousLogin(shell))
