// The configuration of HAProxy 2.6, with @NAMES@ for what differs by installation. config.cc fills it in.
//
// How to read it. The frontend works out `txn.why`, the first reason to refuse, and `txn.ok`, which only a
// request that proved everything gets. Each ACL is positive ("proved good"): a missing value gives no sample,
// hence no match, hence a refusal. Only `ok` leads to `workloads`; what matches nothing ends in `refused`.
#pragma once

namespace cubeplane::gateway {

inline constexpr char kConfigText[] = R"cfg(# Written by cubeplane; changes are lost.
global
    stats socket @ADMIN@ mode 600 level admin
    stats timeout 30s
    description @MARK@
    nbthread 2
    maxconn @MAXCONN@
    # Two instances of one user must not share a port: each would get half of the other's requests.
    noreuseport
    # Room for many cookies beside our own.
    tune.bufsize 32768

defaults base
    mode http
    timeout connect 3s
    timeout http-request 10s
    timeout http-keep-alive 30s
    timeout client 2m
    timeout server 10m
    # Idle WebSockets: a cell that prints nothing for long. Jupyter pings every 30 s; a lost client is found by TCP.
    timeout tunnel 4h
    option clitcpka
    retries 1
    # Every server is another workload: never try "another one".
    no option redispatch
    http-reuse never
    option dontlognull
    option http-restrict-req-hdr-names delete
    http-error status 400 content-type application/json lf-string '%[str(bad-target.json-en),map_str(@PAGES@)]'
    http-error status 502 content-type application/json lf-string '%[var(txn.upstream),concat("-broken.",txn.form),map_str(@PAGES@)]'
    http-error status 503 content-type application/json lf-string '%[var(txn.upstream),concat("-unreachable.",txn.form),map_str(@PAGES@)]'
    http-error status 504 content-type application/json lf-string '%[var(txn.upstream),concat("-timeout.",txn.form),map_str(@PAGES@)]'

frontend entry from base
    bind 127.0.0.1:@PORT@ proto h1
    bind [::1]:@PORT@ proto h1 v6only

    # -- 1. who is asked, and in which form a refusal is wanted
    acl why       var(txn.why) -m found
    acl is_ws     req.hdr(upgrade) -m found
    acl mode_nav  req.hdr(sec-fetch-mode) -m str navigate
    acl has_mode  req.hdr(sec-fetch-mode) -m found
    acl dest_doc  req.hdr(sec-fetch-dest) -m str document
    acl has_dest  req.hdr(sec-fetch-dest) -m found
    acl html      req.hdr(accept) -m sub text/html
    acl is_get    method -m str GET
    acl zh        req.hdr(accept-language) -m beg -i zh
    http-request set-var(txn.page) int(1) if is_get html mode_nav dest_doc !is_ws
    http-request set-var(txn.page) int(1) if is_get html mode_nav !has_dest !is_ws
    http-request set-var(txn.page) int(1) if is_get html !has_mode !has_dest !is_ws
    acl page      var(txn.page) -m int 1
    http-request set-var(txn.form) str(json-en)
    http-request set-var(txn.form) str(json-zh) if zh !page
    http-request set-var(txn.form) str(html-en) if page !zh
    http-request set-var(txn.form) str(html-zh) if page zh
    http-request set-var(txn.upstream) str(workload)

    acl one_host  req.hdr_cnt(host) eq 1
    acl host_ok   req.hdr(host),lower -m reg ^[a-z0-9.-]+(:[0-9]{1,5})?$
    http-request set-var(txn.why) str(bad-host) unless one_host host_ok
    http-request set-var(txn.authority) req.hdr(host),lower
    http-request set-var(txn.host) var(txn.authority),field(1,:)
    acl is_platform var(txn.host) -m str @DOMAIN@
    http-request set-var(txn.upstream) str(platform) if is_platform
    http-request set-var(txn.route) var(txn.host),map_str(@HOSTS@) unless is_platform
    http-request set-var(txn.server) var(txn.route),field(1,|)
    http-request set-var(txn.owner) var(txn.route),field(2,|)

    # -- 2. shape: what is ambiguous is refused, not resolved
    acl method_ok method -m str GET HEAD OPTIONS POST PUT PATCH DELETE
    acl target_ok url -m beg /
    acl route_ok  var(txn.server) -m found
    http-request set-var(txn.why) str(bad-method) if !why !method_ok
    http-request set-var(txn.why) str(bad-target) if !why !target_ok
    http-request set-var(txn.why) str(bad-path) if !why { path -m sub // }
    http-request set-var(txn.why) str(bad-path) if !why { path -m sub -i %2e %2f %5c }
    http-request set-var(txn.why) str(bad-path) if !why { path -m sub \\ }
    http-request set-var(txn.why) str(bad-path) if !why { path -m sub /. } { path -m reg /\.\.?(;|/|$) }
    # HAProxy and an upstream could look at different ones (a sibling may plant a second cookie on a real domain).
    http-request set-var(txn.why) str(bad-cookie) if !why { req.fhdr_cnt(cookie) gt 1 }
    http-request set-var(txn.why) str(bad-cookie) if !why { req.cook_cnt(@COOKIE@) gt 1 }
    http-request set-var(txn.why) str(unknown-host) if !why !is_platform !route_ok

    # -- 3. other origins: all that may come from elsewhere is a top-level navigation by GET
    http-request set-var-fmt(txn.origin) "http://%[var(txn.authority)]"
    acl unsafe    method -m str POST PUT PATCH DELETE
    acl safe      method -m str GET HEAD
    acl has_orig  req.fhdr(origin) -m found
    acl own_orig  req.fhdr(origin),strcmp(txn.origin) -m int 0
    acl null_orig req.fhdr(origin) -m str null
    acl has_site  req.hdr(sec-fetch-site) -m found
    acl site_own  req.hdr(sec-fetch-site) -m str same-origin none
    acl site_same req.hdr(sec-fetch-site) -m str same-origin
    acl two_orig  req.fhdr_cnt(origin) gt 1
    http-request set-var(txn.why) str(cross-origin-write) if !why two_orig
    # Programs call the platform's API without an Origin; a browser never opens a WebSocket without one.
    http-request set-var(txn.why) str(cross-origin-websocket) if !why is_ws has_orig !own_orig
    http-request set-var(txn.why) str(cross-origin-websocket) if !why is_ws !has_orig !is_platform
    # A form of a page with Referrer-Policy no-referrer sends Origin null: the browser's own word decides.
    http-request set-var(txn.why) str(cross-origin-write) if !why unsafe has_orig !own_orig !null_orig
    http-request set-var(txn.why) str(cross-origin-write) if !why unsafe null_orig !site_same
    http-request set-var(txn.why) str(write-without-origin) if !why unsafe !has_orig !site_same !is_platform
    http-request set-var(txn.why) str(cross-origin-embed) if !why has_site !site_own !mode_nav
    http-request set-var(txn.why) str(cross-origin-embed) if !why has_site !site_own !dest_doc
    http-request set-var(txn.why) str(cross-origin-write) if !why has_site !site_own !safe
    http-request set-var(txn.why) str(cross-origin-read) if !why !unsafe has_orig !own_orig !mode_nav !is_ws

    # -- 4. the sign-in's own pages on a workload's host
    acl is_signin path -m beg /.cubeplane
    acl signin_ok path -m str /.cubeplane/callback /.cubeplane/open /.cubeplane/signout
    acl signin_method method -m str GET POST
    http-request set-var(txn.upstream) str(platform) if is_signin
    http-request set-var(txn.why) str(unknown-path) if !why is_signin is_platform
    http-request set-var(txn.why) str(unknown-path) if !why is_signin !signin_ok
    http-request set-var(txn.why) str(bad-method) if !why is_signin !signin_method

    # -- 5. who asks: the session behind our host-only cookie
    http-request set-var(txn.hash) req.cook(@COOKIE@),sha2(256),hex,lower
    http-request set-var(txn.session) var(txn.hash),map_str(@SESSIONS@)
    http-request set-var(txn.user) var(txn.session),field(1,|)
    http-request set-var(txn.expiry) var(txn.session),field(2,|),add(0)
    http-request set-var(txn.session_host) var(txn.session),field(3,|)
    http-request set-var(txn.now) date
    acl s_found   var(txn.session) -m found
    acl s_host    var(txn.session_host),strcmp(txn.host) -m int 0
    # sub() of a negative and a positive number gives 2^63-1 in 2.6: the expiry must be positive, too.
    acl s_dated   var(txn.expiry) -m int gt 0
    acl s_live    var(txn.expiry),sub(txn.now) -m int gt 0
    acl s_owner   var(txn.user),strcmp(txn.owner) -m int 0
    http-request set-var(txn.ok) int(1) if !why !is_platform !is_signin route_ok s_found s_host s_dated s_live s_owner
    acl ok        var(txn.ok) -m int 1
    acl elsewhere var(txn.upstream) -m str platform
    http-request set-var(txn.why) str(no-session) if !why !ok !elsewhere !s_found
    http-request set-var(txn.why) str(other-host) if !why !ok !elsewhere !s_host
    http-request set-var(txn.why) str(expired)    if !why !ok !elsewhere !s_dated
    http-request set-var(txn.why) str(expired)    if !why !ok !elsewhere !s_live
    http-request set-var(txn.why) str(not-owner)  if !why !ok !elsewhere

    use_backend platform if !why is_platform
    use_backend signin if !why is_signin
    use_backend workloads if !why ok
    default_backend refused

backend platform from base
    timeout server 1h
    http-request del-header X-Cubeplane- -m beg
    http-request del-header X-Forwarded- -m beg
    http-request del-header Forwarded
    http-request del-header Upgrade unless { req.hdr(upgrade) -m str -i websocket }
    http-request set-header X-Forwarded-Proto http
    http-request set-header X-Forwarded-For %[src]
    http-response set-var(txn.answered) int(1)
    http-after-response set-header Content-Type "text/html; charset=utf-8" if { status 502:504 } !{ var(txn.answered) -m found } { var(txn.page) -m int 1 }
    server platform unix@@PLATFORM@

backend signin from base
    http-request del-header X-Cubeplane- -m beg
    http-request del-header X-Forwarded- -m beg
    http-request del-header Forwarded
    http-request del-header Upgrade
    http-request del-header Authorization
    http-request set-header X-Forwarded-Proto http
    http-request set-header X-Forwarded-For %[src]
    http-request set-header X-Cubeplane-Signin 1
    http-request set-header X-Cubeplane-Host %[var(txn.host)]
    http-response set-var(txn.answered) int(1)
    http-after-response set-header Content-Type "text/html; charset=utf-8" if { status 502:504 } !{ var(txn.answered) -m found } { var(txn.page) -m int 1 }
    server platform unix@@PLATFORM@

# A refused request never meets a server.
backend refused from base
    acl away var(txn.why) -m str no-session other-host expired
    acl page var(txn.page) -m int 1
    http-request set-var(txn.why) str(bad-target) unless { var(txn.why) -m found }
    # To the platform and back, with a state bound to this browser and this flow. Only for pages: an open notebook that
    # polls after its session has ended would otherwise collect cookies until its headers are too large.
    http-request set-var(txn.state) uuid(),hmac(sha256,"@STATEKEY@"),hex,lower if away page
    http-request set-var(txn.next) pathq,url_enc if away page
    http-request set-var(txn.next) str(%2F) if away page { pathq -m len 2001: }
    http-request set-var(txn.port) var(txn.authority),regsub('^[^:]*','') if away page
    http-request return status 302 hdr Location "http://@DOMAIN@%[var(txn.port)]/authorize?host=%[var(txn.host)]&state=%[var(txn.state)]&next=%[var(txn.next)]" hdr Set-Cookie "@COOKIE@-s-%[var(txn.state),bytes(0,1)]=%[var(txn.state)]; Path=/; Max-Age=600; Secure; HttpOnly; SameSite=Lax" hdr Cache-Control no-store if away page
@REFUSALS@
    http-request return status 400 content-type application/json string '{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"BadRequest","code":400}'

defaults checked from base
    # -- 6. only a request that proved everything comes here; this is the second lock
    http-request return status 403 content-type application/json string '{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}' unless { var(txn.ok) -m int 1 }
    http-request set-var(txn.secret) var(txn.server),map_str(@SECRETS@)
    acl locked var(txn.secret) -m found
    http-request return status 503 content-type application/json lf-string '%[str(no-secret.),concat("",txn.form),map_str(@PAGES@)]' hdr Cache-Control no-store if !locked !{ var(txn.page) -m int 1 }
    http-request return status 503 content-type "text/html; charset=utf-8" lf-string '%[str(no-secret.),concat("",txn.form),map_str(@PAGES@)]' hdr Cache-Control no-store if !locked

    # -- 7. what the upstream gets: nothing of ours but the secret of its own door. HAProxy takes blanks around `=` in
    # cookies, and so does the expression; what is left with our name in it is refused.
    http-request set-header Cookie "%[req.fhdr(cookie),regsub('(^|;)[ \t]*__Host-cubeplane-[^=;]*=[^;]*','','gi'),regsub('^[; \t]+','')]" if { req.fhdr(cookie) -m found }
    http-request del-header Cookie if { req.fhdr(cookie) -m len 0 }
    http-request return status 400 content-type application/json lf-string '%[str(bad-cookie.json-en),map_str(@PAGES@)]' if { req.fhdr(cookie) -m sub -i __host-cubeplane- }
    http-request del-header X-Cubeplane- -m beg
    http-request del-header X-Forwarded- -m beg
    http-request del-header Forwarded
    http-request del-header Proxy-Authorization
    # A token of the platform that went to the wrong address.
    http-request del-header Authorization if { req.hdr(authorization) -m sub cpt_ }
    # Only WebSockets: h2c would be a tunnel past every check. No header may be named hop-by-hop and dropped on the way.
    acl websocket req.hdr(upgrade) -m str -i websocket
    http-request del-header Upgrade unless websocket
    http-request set-header Connection upgrade if websocket
    http-request del-header Connection unless websocket
    http-request set-header X-Forwarded-Proto http
    http-request set-header X-Forwarded-For %[src]
    http-request set-header X-Cubeplane-User %[var(txn.user)]
    http-request set-header X-Cubeplane-Door %[var(txn.secret)]

    # -- 8. what the browser gets: a workload cannot set our cookies, reach siblings, open itself or clear the site
    acl right_server srv_name,strcmp(txn.server) -m int 0
    http-response return status 503 content-type application/json lf-string '%[str(no-secret.json-en),map_str(@PAGES@)]' hdr Cache-Control no-store unless right_server
    http-response set-var(txn.answered) int(1)
    http-response replace-header Set-Cookie '(?i)^[\s=]*__host-cubeplane-.*' 'blocked=; Max-Age=0'
    http-response replace-header Set-Cookie '(?i)^(.*?);\s*domain\s*(=[^;]*)?(;.*)?$' '\1\3'
    http-response replace-header Set-Cookie '(?i)^(.*?);\s*domain\s*(=[^;]*)?(;.*)?$' '\1\3'
    http-response replace-header Set-Cookie '(?i)^.*;\s*domain\s*(=.*)?$' 'blocked=; Max-Age=0'
    http-response del-header Access-Control- -m beg
    http-response del-header Clear-Site-Data
    http-response del-header Strict-Transport-Security
    http-response del-header Alt-Svc
    http-response add-header Content-Security-Policy "frame-ancestors 'self'"
    http-response set-header Cross-Origin-Opener-Policy same-origin-allow-popups
    http-response set-header Cross-Origin-Resource-Policy same-origin
    http-response add-header Cache-Control private
    # The gateway's own 502, 503 and 504 are pages for people.
    http-after-response set-header Content-Type "text/html; charset=utf-8" if { status 502:504 } !{ var(txn.answered) -m found } { var(txn.page) -m int 1 }

backend workloads from checked
    # A server that is unknown or in maintenance is not replaced by another: all have weight 0, so that the load balancer
    # has nothing to fall back to and HAProxy answers 503.
    use-server %[var(txn.server)] if TRUE
)cfg";

}  // namespace cubeplane::gateway
