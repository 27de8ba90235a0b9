// `cli webhooks`: what an operator does with projects' webhooks.

import { expect, test } from 'bun:test'
import { runCli } from '../support/cli.ts'
import { commonService } from '../support/common-service.ts'

const service = await commonService()

const cli = (...args: readonly string[]) => runCli(['webhooks', ...args], service.variables)

test('a webhook is added, listed, disabled, enabled, rotated, tested, replayed and removed', async () => {
  const { projectId } = service.project
  const added = await cli(
    'add',
    '--project',
    projectId,
    '--url',
    'https://example.com/hooks',
    '--types',
    'wallet.created',
    '--order',
    'none',
  )
  const [, id = ''] = /webhook id: (\S+)/.exec(added.output) ?? []
  expect(added.output).toMatch(/secret: +whsec_/)
  expect((await cli('list')).output).toContain(`${id}  project ${projectId}  enabled  nothing waits`)
  expect((await cli('disable', id)).output).toContain('disabled')
  expect((await cli('list', '--project', projectId)).output).toContain('operator disabled it.')
  expect((await cli('test', id)).errors).toContain('enable it first')
  expect((await cli('enable', id)).output).toContain('enabled')
  expect((await cli('rotate-secret', id, '--overlap', '60')).output).toMatch(/^secret: whsec_/)
  expect((await cli('test', id)).output).toContain('test message')
  expect((await cli('replay', id, '--after', '999999')).output).toBe('0 deliveries are sent again.\n')
  const [listed] = JSON.parse((await cli('list', '--json')).output)
  expect(listed).toMatchObject({ id, waiting: 1, order: 'none', paused_until: null })
  expect(listed).not.toHaveProperty('sealed')
  expect((await cli('remove', id)).output).toContain('removed')
  expect((await cli('remove', id)).errors).toContain('There is no webhook with this id.')
})

test('a URL in a private network is refused', async () => {
  const added = await cli('add', '--project', service.project.projectId, '--url', 'https://10.0.0.1/')
  expect(added.errors).toContain('a host on the public Internet')
})
