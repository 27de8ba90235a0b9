// The page on which users see and change what opens their wallets. It has the ways to log in of the login page.

import { html } from '../../platform/pages/page.ts'
import { credentialViews } from '../login/credential-views.ts'
import type { Login } from '../login/open.ts'
import { done, pageBehindLogin } from '../login/page.ts'

export const credentialsPage = (login: Login): string => {
  const { projectName } = login
  return pageBehindLogin({
    login,
    asks: 'credentials',
    title: `What opens your wallets at ${projectName}`,
    intro: html`
      <p>Log in to see what opens your wallets at <bdi>${projectName}</bdi>, and to change it.</p>`,
    attributes: [],
    views: [...credentialViews(projectName), done(projectName)],
  })
}
