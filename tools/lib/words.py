"""Sentences of the first run, in English and Chinese by the locale."""

import os

TEXTS = {
    "start": ("Start the control plane, the engine and the gateway", "启动控制面、引擎和统一入口"),
    "project": ("Project demo with its quota", "项目组 demo 及其配额"),
    "job": ("Training job {name}", "训练任务 {name}"),
    "notebook": ("Notebook {name}", "Notebook {name}"),
    "sign_in": ("Sign in by the one-time link", "用一次性链接登录"),
    "page": ("JupyterLab page through the gateway", "经统一入口打开 JupyterLab 页面"),
    "cell": ("A cell over the kernel's WebSocket", "经内核 WebSocket 执行一个单元"),
    "refused": ("Strangers are refused", "拒绝无权访问者"),
    "down": ("End everything and look for what is left", "全部结束并检查残留"),
    "done": ("done in {seconds} s", "完成，用时 {seconds} 秒"),
    "result": ("Accuracy {accuracy} after {seconds} s. Model: {model} in the project, {place} on this machine.",
               "准确率 {accuracy}，用时 {seconds} 秒。模型：项目组内 {model}，本机 {place}。"),
    "open": ("\nYour notebook opens here (once, within 10 minutes; ./cubeplane open notebook makes another link):\n\n  {link}\n\n"
             "At another computer, first run there:  ssh -L {port}:localhost:{port} {host}\n"
             "Platform: {url}   Command line: ./cubeplane status\n"
             "Ctrl-C stops the control plane; the notebook goes on.\n",
             "\n打开 Notebook（10 分钟内有效，只能用一次；./cubeplane open notebook 可再生成）：\n\n  {link}\n\n"
             "在别的电脑上请先执行：  ssh -L {port}:localhost:{port} {host}\n"
             "平台：{url}   命令行：./cubeplane status\n"
             "Ctrl-C 只停止控制面，Notebook 继续运行。\n"),
    "stopping": ("Stopping the control plane …", "正在停止控制面 …"),
    "goes_on": ("The control plane has stopped. The notebook goes on for those signed in: {address}\n"
                "./run brings the platform back, ./run down ends everything.",
                "控制面已停止。已登录者的 Notebook 继续运行：{address}\n./run 恢复平台，./run down 全部结束。"),
    "ended": ("The control plane has ended: {why}", "控制面已退出：{why}"),
    "live_data": ("{data} has live work; --once needs a folder of its own", "{data} 中有正在运行的任务；--once 需要单独的目录"),
    "summary": ("passed in {seconds} s: accuracy {accuracy}, was served on {address}; everything has ended",
                "通过，用时 {seconds} 秒：准确率 {accuracy}，地址 {address}；已全部结束"),
    "failed": ("FAILED: {why}\nData kept in {data}", "失败：{why}\n数据保留在 {data}"),
}


def _chinese():
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if os.environ.get(name):
            return os.environ[name].startswith("zh")
    return False


def say(key, /, **params):
    return TEXTS[key][_chinese()].format_map(_Lenient(params))


class _Lenient(dict):
    def __missing__(self, key):
        return ""
