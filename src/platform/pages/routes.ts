import { readFile } from 'node:fs/promises'
import { Elysia } from 'elysia'
import type { HasConfig } from '../config.ts'
import { AppError } from '../errors.ts'
import { html, PAGE_HEADERS, page } from './page.ts'

const hidden = { detail: { hide: true } }

const reading = html`
      <p><a href="openapi">Read about each call</a></p>
      <p><a href="openapi/json">The same for programs, in OpenAPI</a></p>`

const unread = html`
      <p><a href="docs/api.md">Read what is served</a></p>
      <p>This deployment does not publish the description of each call. It is at <code>/openapi</code> where the operator sets
        <code>API_PAGE=true</code>.</p>`

const welcomePage = ({ config }: HasConfig): string =>
  page({
    root: '.',
    title: 'Strongroom',
    body: html`<main>
      <h1>Strongroom</h1>
      <p>A service for programs: wallets, previews, transactions and NFTs.</p>${config.hasApiPage ? reading : unread}
    </main>`,
  })

const isForPeople = ({ headers }: Request): boolean => headers.get('accept')?.includes('text/html') ?? false

export const styleRoutes = (...names: readonly ('style.css' | 'api.css' | 'console.css')[]) => {
  const routes = new Elysia({ prefix: '/pages' })
  for (const name of names) {
    routes.get(
      `/${name}`,
      async ({ set }) => {
        set.headers['content-type'] = 'text/css; charset=utf-8'
        set.headers['cache-control'] = 'no-cache'
        set.headers['x-content-type-options'] = 'nosniff'
        return readFile(new URL(name, import.meta.url), 'utf8')
      },
      hidden,
    )
  }
  return routes
}

const documentationRoute = () =>
  new Elysia().get(
    '/docs/api.md',
    async ({ set }) => {
      Object.assign(set.headers, PAGE_HEADERS, { 'content-type': 'text/plain; charset=utf-8' })
      return readFile(new URL('../../../docs/api.md', import.meta.url), 'utf8')
    },
    hidden,
  )

export const pageRoutes = (ctx: HasConfig) =>
  new Elysia()
    .use(styleRoutes('style.css', 'api.css'))
    .use(documentationRoute())
    .get(
      '/',
      ({ request, set }) => {
        set.headers.vary = 'Accept'
        if (!isForPeople(request)) throw new AppError('not_found', 'There is no such path.')
        Object.assign(set.headers, PAGE_HEADERS)
        return welcomePage(ctx)
      },
      hidden,
    )
