import { Command } from 'commander'
import { addOrigins, removeOrigins, setAnonymousLogin, setPasskeyDomain } from '../../identity/projects/settings.ts'
import { activateProject, createProject, listProjects, showProject } from '../projects.ts'
import { oneOf, uuid } from './arguments.ts'
import { delegateCommands } from './delegates.ts'
import { issuerCommands } from './issuers.ts'
import { OPERATOR } from './operator.ts'
import { returnAddressCommands } from './return-addresses.ts'
import type { Shell } from './shell.ts'

export const projectCommands = (shell: Shell): Command => {
  const { print, printJson, readSecrets, withOperatorCtx, withVault, withReadingCtx } = shell
  const command = new Command('project').description('Projects: developer accounts, the tenants of this service.')
  command
    .command('create')
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
  command
    .command('activate')
    .description("Set a mainnet project's developer secret, read from standard input, and create the project wallets.")
    .argument('<project-id>', 'the project', uuid)
    .action(async (projectId: string) => {
      const [developerSecret = ''] = await readSecrets(['developer secret'])
      await withOperatorCtx((ctx) => activateProject(ctx, { projectId, developerSecret, actor: OPERATOR }))
      print('The project is active. Keep the secret: nobody can recover it.')
    })
  command
    .command('change-developer-secret')
    .description(
      'Change the developer secret of a mainnet project. Both are read from standard input, the old one first.',
    )
    .argument('<project-id>', 'the project', uuid)
    .action(async (projectId: string) => {
      const [oldSecret = '', newSecret = ''] = await readSecrets(['old developer secret', 'new developer secret'])
      await withVault((ctx) => ctx.vault.changeDeveloperSecret({ projectId, oldSecret, newSecret, actor: OPERATOR }))
      print('The developer secret is changed. The old one no longer works.')
    })
  command
    .command('list')
    .description('List the projects, oldest first.')
    .option('--json', 'print a JSON array')
    .action(({ json }: { json?: boolean }) =>
      withReadingCtx(async (ctx) => {
        const projects = await listProjects(ctx)
        if (json) return printJson(projects)
        for (const project of projects) print(`${project.id}  ${project.created_at}  ${project.name}`)
      }),
    )
  command
    .command('show')
    .description('Show a project and its settings.')
    .argument('<project-id>', 'the project', uuid)
    .option('--json', 'print a JSON object')
    .action(show(shell))
  command.addCommand(originCommands(shell))
  command.addCommand(returnAddressCommands(shell))
  command.addCommand(delegateCommands(shell))
  command.addCommand(issuerCommands(shell))
  addPageCommands(command, shell)
  addLoginCommands(command, shell)
  return command
}

/** Settings of how a project's users log in. */
const addLoginCommands = (command: Command, { print, withIdentityCtx }: Shell): void => {
  command
    .command('anonymous-login')
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
}

const show =
  ({ print, printJson, withReadingCtx }: Shell) =>
  (projectId: string, { json }: { json?: boolean }) =>
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
    })

const allowedNow = (origins: readonly string[]): string =>
  origins.length === 0 ? 'No origin is allowed now.' : `Allowed now: ${origins.join(', ')}`

/** Where a project's web pages are. */
const originCommands = ({ print, printJson, withReadingCtx, withIdentityCtx }: Shell): Command => {
  const command = new Command('origins').description('The web origins from which browsers may call for a project.')
  command
    .command('list')
    .description('List the allowed origins.')
    .argument('<project-id>', 'the project', uuid)
    .option('--json', 'print a JSON array')
    .action((projectId: string, { json }: { json?: boolean }) =>
      withReadingCtx(async (ctx) => {
        const { allowed_origins: origins } = await showProject(ctx, { projectId })
        if (json) return printJson(origins)
        for (const origin of origins) print(origin)
        if (origins.length === 0) print('No origin is allowed.')
      }),
    )
  for (const [name, description, change] of [
    ['add', 'Allow further origins.', addOrigins],
    ['remove', 'Allow origins no longer.', removeOrigins],
  ] as const) {
    command
      .command(name)
      .description(description)
      .argument('<project-id>', 'the project', uuid)
      .argument(
        '<origins...>',
        'for instance https://app.example.com, on mainnet only https; or android:apk-key-hash:… for passkeys of an app on Android',
      )
      .action((projectId: string, origins: readonly string[]) =>
        withIdentityCtx(async (ctx) => print(allowedNow(await change(ctx, { projectId, origins })))),
      )
  }
  return command
}

/** Settings of a project's web pages. */
const addPageCommands = (command: Command, { print, withIdentityCtx }: Shell): void => {
  command
    .command('passkey-domain')
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
}
