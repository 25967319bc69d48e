// Serves the page of an operator as a server does, from what `status(tick)` answers: a tick is a second of
// the servers' clock, and each request of the page is one later than the one before, so that no test waits
// for time to pass.
import { execFileSync } from 'node:child_process';
import http from 'node:http';

export class PageServer {
  // `program`: tests/web/web_page. Call `start`.
  constructor(program, status) {
    this.program = program;
    this.status = status;
    this.tick = 0;
    this.requests = [];
    this.answer = null; // (response) => ...: what to do instead of answering the page
    this.policy = this.run(['--policy']);
    this.files = new Map(this.run(['--paths']).trim().split('\n').map((line) => {
      const [path, ...type] = line.split(' ');
      return [path, { type: type.join(' '), bytes: this.run([path]) }];
    }));
  }

  run(words, input = '') {
    return execFileSync(this.program, words, { input, encoding: 'utf8', maxBuffer: 64 << 20 });
  }

  async start(port = 0) {
    this.server = http.createServer((request, response) => this.serve(request, response));
    await new Promise((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(port, '127.0.0.1', resolve);
    });
    this.port = this.server.address().port;
    this.url = `http://127.0.0.1:${this.port}/ui`;
    return this;
  }

  async stop() {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }

  serve(request, response) {
    const path = request.url.split('?')[0];
    this.requests.push(path);
    const send = (type, bytes) => {
      response.writeHead(200, { 'Content-Type': type, 'Content-Security-Policy': this.policy, 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' });
      response.end(bytes);
    };
    if (path === '/ui') {
      if (this.answer) return this.answer(response);
      return send('text/html; charset=utf-8', this.run([], JSON.stringify(this.status(++this.tick))));
    }
    const file = this.files.get(path);
    if (file) return send(file.type, file.bytes);
    response.writeHead(404).end();
    return undefined;
  }
}
