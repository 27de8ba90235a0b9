import { Command } from 'commander'
import { addReturnAddresses, removeReturnAddresses } from '../../identity/projects/settings.ts'
import { showProject } from '../projects.ts'
import { uuid } from './arguments.ts'
import type { Shell } from './shell.ts'

const listedNow = (addresses: readonly string[]): string =>
  addresses.length === 0 ? 'The project has no return addresses now.' : `Listed now:\n${addresses.join('\n')}`

/** `project return-addresses`: where a project's users go after a login, a consent or the page of credentials. */
export const returnAddressCommands = ({ print, printJson, withReadingCtx, withIdentityCtx }: Shell): Command => {
  const command = new Command('return-addresses').description(
    'The addresses to which the login page and its siblings may send users of a project back.',
  )
  command
    .command('list')
    .description('List the return addresses.')
    .argument('<project-id>', 'the project', uuid)
    .option('--json', 'print a JSON array')
    .action((projectId: string, { json }: { json?: boolean }) =>
      withReadingCtx(async (ctx) => {
        const { return_addresses: addresses } = await showProject(ctx, { projectId })
        if (json) return printJson(addresses)
        for (const address of addresses) print(address)
        if (addresses.length === 0) print('The project has no return addresses.')
      }),
    )
  for (const [name, description, change] of [
    ['add', 'List further addresses.', addReturnAddresses],
    ['remove', 'List addresses no longer.', removeReturnAddresses],
  ] as const) {
    command
      .command(name)
      .description(description)
      .argument('<project-id>', 'the project', uuid)
      .argument('<addresses...>', 'for instance https://app.example.com/after; a redirect_uri must be equal to it')
      .action((projectId: string, addresses: readonly string[]) =>
        withIdentityCtx(async (ctx) => print(listedNow(await change(ctx, { projectId, addresses })))),
      )
  }
  return command
}
