import { Command } from 'commander'
import { createProject } from '../projects/create.ts'
import { listProjects } from '../projects/list.ts'
import { setAllowedOrigins } from '../projects/origins.ts'
import { OPERATOR, print, printJson, withCtx } from './operator.ts'

export const projectCommands = (): Command => {
  const command = new Command('project').description('Developer accounts: the tenants of this service.')
  command
    .command('create')
    .description('Make a project with a first API key; the key is shown once.')
    .requiredOption('--name <name>', 'what the project is called')
    .option('--json', 'print { project_id, api_key }')
    .action(({ name, json }: { name: string; json?: boolean }) =>
      withCtx(async (ctx) => {
        const { projectId, apiKey } = await createProject(ctx, { name, actor: OPERATOR })
        if (json) return printJson({ project_id: projectId, api_key: apiKey })
        print(`project id: ${projectId}`)
        print(`api key:    ${apiKey}`)
        print('Keep the key now: it is stored only as a hash and cannot be shown again.')
      }),
    )
  command
    .command('list')
    .description('List the projects, oldest first.')
    .option('--json', 'print a JSON array')
    .action(({ json }: { json?: boolean }) =>
      withCtx(async (ctx) => {
        const projects = await listProjects(ctx)
        if (json) return printJson(projects)
        for (const project of projects) print(`${project.id}  ${project.created_at}  ${project.name}`)
      }),
    )
  command
    .command('origins')
    .description('Set from which web origins browsers may call for a project; replaces the earlier list.')
    .argument('<project-id>')
    .argument('[origins...]', 'for instance https://app.example.com')
    .action((projectId: string, origins: readonly string[]) =>
      withCtx(async (ctx) => {
        await setAllowedOrigins(ctx, { projectId, origins })
        print(origins.length === 0 ? 'No origin is allowed now.' : `Allowed now: ${origins.join(', ')}`)
      }),
    )
  return command
}
